"""Brings a table that is there up to what schema and settings say, before a load writes to it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from penstock.destinations.iceberg.conflicts import retry_on_conflict
from penstock.destinations.iceberg.ddl import can_widen, table_properties
from penstock.destinations.lake.ddl import change_type_statement, changed_types, set_properties_statement

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.destinations.iceberg.run import IcebergTables
    from penstock.schema import Table


def alter_table(tables: IcebergTables, table: Table, previous: Table | None, *, spark: SparkSession) -> None:
    """Set properties that differ and widen types; `before` is the table of the last load.

    A table is looked at only where something is said of its properties or has changed since then. A type that
    Iceberg cannot change stays: what fits into it is written, and what does not fails the load.
    """
    wanted = table_properties(table, tables.properties)
    types = changed_types(previous, table) if previous else {}
    wider = {column: to for column, (has, to) in types.items() if can_widen(has, to)}
    if not (wanted or wider) or not tables.exists(table.name, spark=spark):
        return
    name = tables.sql_name(table.name)
    has = tables.properties_of(table.name, spark=spark) if wanted else {}
    differing = {key: value for key, value in wanted.items() if has.get(key) != value}
    statements = [set_properties_statement(name, differing)] if differing else []
    statements += [change_type_statement(name, column, sql_type) for column, sql_type in wider.items()]
    for text in statements:
        retry_on_conflict(table.name, partial(spark.sql, text))
