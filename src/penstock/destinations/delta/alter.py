"""Brings a table that is there up to what schema and settings say, before a load writes to it.

New columns are not among it: they come with the rows that bring them, in the same commit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.destinations.delta.define import cluster_columns, cluster_statement, table_properties
from penstock.destinations.delta.widen import wider_types
from penstock.destinations.lake.define import changed_types, property_statement, type_statement

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.destinations.delta.run import DeltaTables
    from penstock.schema import Table


def bring_up_to_date(tables: DeltaTables, table: Table, before: Table | None, *, spark: SparkSession) -> None:
    """Set properties that differ, widen types and cluster anew; `before` is the table of the last load.

    A table is looked at only where something is said of its properties or has changed since then, so that
    loads of many tables do not ask about each.
    """
    wanted = table_properties(table, tables.properties)
    types = changed_types(before, table) if before else {}
    clusters = before is not None and cluster_columns(before) != cluster_columns(table)
    if not (wanted or types or clusters) or not tables.exists(table.name, spark=spark):
        return
    name = tables.sql_name(table.name)
    has = tables.properties_of(table.name, spark=spark)
    differing = {key: value for key, value in wanted.items() if has.get(key) != value}
    if differing:
        spark.sql(property_statement(name, differing))
    for column, sql_type in wider_types(table.name, types, {**has, **wanted}).items():
        spark.sql(type_statement(name, column, sql_type))
    if clusters:
        spark.sql(cluster_statement(name, cluster_columns(table)))
