"""The undo of appended rows: a database keeps no versions, so rows are found by the id of their load."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from penstock.destinations.sql.dialect import column
from penstock.interfaces import TableRestore, missing_table
from penstock.schema.defaults import ID_COLUMN, LOAD_ID_COLUMN, PARENT_ID_COLUMN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.destinations.sql.connection import SqlConnection
    from penstock.destinations.sql.dialect import DatasetNames
    from penstock.schema import Table


def plan_row_undo(
    connection: SqlConnection,
    names: DatasetNames,
    tables: Mapping[str, Table],
    table: str,
    load_ids: Sequence[str],
    *,
    is_created: bool,
    rows: int | None,
) -> TableRestore:
    """Return what the undo of loads does to a table, with the rows that are not as these loads left them."""
    if table not in connection.live_columns(names, [table]):
        return missing_table(table, None)
    own = _count(connection, names.table(table), rows_of_loads(table, tables, names, load_ids))
    changes: list[str] = []
    if rows is not None and own != rows:
        changes.append(f"{own} of the {rows} rows of these loads")
    if is_created and (others := _count(connection, names.table(table)) - own):
        changes.append(f"{others} rows of other writers")
    return TableRestore(
        table=table,
        version=None,
        newest=None,
        other_changes=tuple(changes),
        deletes_rows=not is_created,
    )


def delete_rows(
    table: str, tables: Mapping[str, Table], names: DatasetNames, load_ids: Sequence[str]
) -> exp.Delete:
    """Return the statement that deletes the rows of loads; nested tables come before their parents."""
    return exp.delete(names.table(table)).where(rows_of_loads(table, tables, names, load_ids))


def rows_of_loads(
    table: str, tables: Mapping[str, Table], names: DatasetNames, load_ids: Sequence[str]
) -> exp.In:
    """Return the condition for the rows of loads; nested rows are found by their parents."""
    parent = tables[table].parent
    if parent is None:
        ids = [exp.Literal.string(load_id) for load_id in load_ids]
        return exp.In(this=column(LOAD_ID_COLUMN), expressions=ids)
    parents = exp.select(column(ID_COLUMN)).from_(names.table(parent))
    parents = parents.where(rows_of_loads(parent, tables, names, load_ids))
    return exp.In(this=column(PARENT_ID_COLUMN), query=parents.subquery())


def _count(connection: SqlConnection, table: exp.Table, condition: exp.Condition | None = None) -> int:
    query = exp.select(exp.Count(this=exp.Star())).from_(table)
    rows = connection.query(query if condition is None else query.where(condition))
    return int(rows[0][0])
