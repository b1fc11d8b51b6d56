"""Which files are read together: a table may have come as rows, as frames, or as both."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from penstock.interfaces.file_schema import merged_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from penstock.package.extract_manifest import ExtractedTable


@dataclass(frozen=True, slots=True, kw_only=True)
class TableInput:
    """Folders of one table that one job reads."""

    table: ExtractedTable
    """What stands in the first of them."""
    folders: tuple[str, ...]
    columns: Mapping[str, Any] | None
    """What is read from typed files; None for rows."""
    rows: int

    def with_table(self, other: ExtractedTable) -> TableInput | None:
        """Read another folder with these, if its files fit."""
        if self.columns is None and other.columns is None:
            return replace(self, folders=(*self.folders, other.folder), rows=self.rows + other.rows)
        if self.columns is None or other.columns is None:
            return None
        columns = merged_type(self.columns, other.columns)
        if columns is None:
            return None
        return replace(
            self, folders=(*self.folders, other.folder), columns=columns, rows=self.rows + other.rows
        )


def table_inputs(
    tables: Iterable[ExtractedTable], truncated: Iterable[ExtractedTable] = ()
) -> dict[str, list[TableInput]]:
    """What is to be read for each table, in the order in which it came, without folders that have no rows.

    A table that is to be left without a row has a reading without a folder, and so have those of `emptied`.
    """
    found: dict[str, list[TableInput]] = {}
    without_rows = {table.table: table for table in truncated}
    for table in tables:
        if table.rows:
            _add_table(found.setdefault(table.table, []), table)
        elif table.truncates_table:
            without_rows[table.table] = table
    return found | {
        name: [TableInput(table=table, folders=(), columns=None, rows=0)]
        for name, table in without_rows.items()
        if name not in found
    }


def _add_table(inputs: list[TableInput], table: ExtractedTable) -> None:
    for index, reading in enumerate(inputs):
        together = reading.with_table(table)
        if together is not None:
            inputs[index] = together
            return
    inputs.append(TableInput(table=table, folders=(table.folder,), columns=table.columns, rows=table.rows))
