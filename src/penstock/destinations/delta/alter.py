"""Brings a table that is there up to what schema and settings say, before a load writes to it.

New columns are not among it: they come with the rows that bring them, in the same commit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.destinations.delta.ddl import cluster_columns, cluster_statement, table_properties
from penstock.destinations.delta.type_widening import wider_types
from penstock.destinations.lake.ddl import change_type_statement, changed_types, set_properties_statement

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.destinations.delta.run import DeltaTables
    from penstock.schema import Table


def alter_table(tables: DeltaTables, table: Table, previous: Table | None, *, spark: SparkSession) -> None:
    """Set properties that differ, widen types and cluster anew; `before` is the table of the last load.

    A table is looked at only where something is said of its properties or has changed since then, so that
    loads of many tables do not ask about each.
    """
    wanted = table_properties(table, tables.properties)
    types = changed_types(previous, table) if previous else {}
    clusters = previous is not None and cluster_columns(previous) != cluster_columns(table)
    if not (wanted or types or clusters) or not tables.exists(table.name, spark=spark):
        return
    name = tables.sql_name(table.name)
    has = tables.properties_of(table.name, spark=spark)
    differing = {key: value for key, value in wanted.items() if has.get(key) != value}
    if differing:
        spark.sql(set_properties_statement(name, differing))
    for column, sql_type in wider_types(table.name, types, {**has, **wanted}).items():
        spark.sql(change_type_statement(name, column, sql_type))
    if clusters:
        spark.sql(cluster_statement(name, cluster_columns(table)))
