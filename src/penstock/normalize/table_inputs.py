"""Inputs of tables: extracted folders that one Spark job can read together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from penstock.interfaces.file_schema import merged_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from penstock.package.extract_manifest import ExtractedTable


@dataclass(frozen=True, slots=True, kw_only=True)
class TableInput:
    """Extracted folders of one table that one job reads, all of them rows or all of them typed files."""

    table: ExtractedTable
    """The entry of the first folder."""
    folders: tuple[str, ...]
    columns: Mapping[str, Any] | None
    """The columns of typed files; None for rows."""
    rows: int
    is_flat: bool = False
    """Whether all files have the same columns, and a table can take them as they are."""

    def with_table(self, other: ExtractedTable) -> TableInput | None:
        """Return the input with another folder, or None if its files have another form."""
        if self.columns is None and other.columns is None:
            return replace(self, folders=(*self.folders, other.folder), rows=self.rows + other.rows)
        if self.columns is None or other.columns is None:
            return None
        columns = merged_type(self.columns, other.columns)
        if columns is None:
            return None
        return replace(
            self,
            folders=(*self.folders, other.folder),
            columns=columns,
            rows=self.rows + other.rows,
            is_flat=self.is_flat and other.data_format == "flat" and self.columns == other.columns,
        )


def table_inputs(
    tables: Iterable[ExtractedTable], truncated: Iterable[ExtractedTable] = ()
) -> dict[str, list[TableInput]]:
    """Return the inputs of each table in the order of extraction, without folders that have no rows.

    A table that is left or created without rows has one input without a folder, as do the `truncated` ones.
    """
    inputs: dict[str, list[TableInput]] = {}
    without_rows = {table.table: table for table in truncated}
    for table in tables:
        if table.rows:
            _add_table(inputs.setdefault(table.table, []), table)
        elif table.truncates_table or table.creates_table:
            without_rows[table.table] = table
    return inputs | {
        name: [TableInput(table=table, folders=(), columns=None, rows=0)]
        for name, table in without_rows.items()
        if name not in inputs
    }


def _add_table(inputs: list[TableInput], table: ExtractedTable) -> None:
    for index, table_input in enumerate(inputs):
        combined = table_input.with_table(table)
        if combined is not None:
            inputs[index] = combined
            return
    inputs.append(
        TableInput(
            table=table,
            folders=(table.folder,),
            columns=table.columns,
            rows=table.rows,
            is_flat=table.data_format == "flat",
        )
    )
