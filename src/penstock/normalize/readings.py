"""Which files are read together: a table may have come as rows, as frames, or as both."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from penstock.interfaces.columns import joined

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from penstock.package.extracted import ExtractedTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Folders of one table that one job reads."""

    table: ExtractedTable
    """What stands in the first of them."""
    folders: tuple[str, ...]
    columns: Mapping[str, Any] | None
    """What is read from typed files; None for rows."""
    rows: int

    def with_table(self, more: ExtractedTable) -> Reading | None:
        """Read another folder with these, if its files fit."""
        if self.columns is None and more.columns is None:
            return replace(self, folders=(*self.folders, more.folder), rows=self.rows + more.rows)
        if self.columns is None or more.columns is None:
            return None
        columns = joined(self.columns, more.columns)
        if columns is None:
            return None
        return replace(
            self, folders=(*self.folders, more.folder), columns=columns, rows=self.rows + more.rows
        )


def readings_of(
    tables: Iterable[ExtractedTable], emptied: Iterable[ExtractedTable] = ()
) -> dict[str, list[Reading]]:
    """What is to be read for each table, in the order in which it came, without folders that have no rows.

    A table that is to be left without a row has a reading without a folder, and so have those of `emptied`.
    """
    found: dict[str, list[Reading]] = {}
    without_rows = {table.table: table for table in emptied}
    for table in tables:
        if table.rows:
            _place(found.setdefault(table.table, []), table)
        elif table.empties:
            without_rows[table.table] = table
    return found | {
        name: [Reading(table=table, folders=(), columns=None, rows=0)]
        for name, table in without_rows.items()
        if name not in found
    }


def _place(readings: list[Reading], table: ExtractedTable) -> None:
    for index, reading in enumerate(readings):
        together = reading.with_table(table)
        if together is not None:
            readings[index] = together
            return
    readings.append(Reading(table=table, folders=(table.folder,), columns=table.columns, rows=table.rows))
