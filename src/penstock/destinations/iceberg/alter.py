"""Brings a table that is there up to what schema and settings say, before a load writes to it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from penstock.destinations.iceberg.conflicts import persistent
from penstock.destinations.iceberg.define import can_widen, table_properties
from penstock.destinations.lake.define import changed_types, property_statement, type_statement

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.destinations.iceberg.run import IcebergTables
    from penstock.schema import Table


def bring_up_to_date(
    tables: IcebergTables, table: Table, before: Table | None, *, spark: SparkSession
) -> None:
    """Set properties that differ and widen types; `before` is the table of the last load.

    A table is looked at only where something is said of its properties or has changed since then. A type that
    Iceberg cannot change stays: what fits into it is written, and what does not fails the load.
    """
    wanted = table_properties(table, tables.properties)
    types = changed_types(before, table) if before else {}
    wider = {column: to for column, (has, to) in types.items() if can_widen(has, to)}
    if not (wanted or wider) or not tables.exists(table.name, spark=spark):
        return
    name = tables.sql_name(table.name)
    has = tables.properties_of(table.name, spark=spark) if wanted else {}
    differing = {key: value for key, value in wanted.items() if has.get(key) != value}
    statements = [property_statement(name, differing)] if differing else []
    statements += [type_statement(name, column, sql_type) for column, sql_type in wider.items()]
    for text in statements:
        persistent(table.name, partial(spark.sql, text))
