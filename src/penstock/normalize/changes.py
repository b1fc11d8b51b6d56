"""What a load changes in a schema, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.schema.defaults import SYSTEM_PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from penstock.schema import Table
    from penstock.schema.column import Column


def schema_changes(before: Mapping[str, Table], table: Table) -> Iterator[str]:
    """What is new in a table, or that it is new."""
    known = before.get(table.name)
    own = [column for column in table.complete_columns() if not column.name.startswith(SYSTEM_PREFIX)]
    if known is None or not known.complete_columns():
        told = ", ".join(f"{column.name} {column.data_type}" for column in own)
        yield f"new table {table.name}" + (f": {told}" if told else "")
        return
    for column in own:
        had = known.columns.get(column.name)
        if had is None or not had.is_complete:
            yield _new_column_text(table, column)
        elif had.data_type != column.data_type:
            yield f"{table.name}.{column.name} was {had.data_type} and is {column.data_type}"


def _new_column_text(table: Table, column: Column) -> str:
    why = ", for values that do not fit beside it" if column.has("variant") else ""
    return f"new column {table.name}.{column.name}: {column.data_type}{why}"
