"""Adapters of Delta and Iceberg tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from penstock.destinations.adapters.hints import adapted_resource
from penstock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.sources import Resource

PartitionSpec: TypeAlias = dict[str, Any]
"""A partition of an Iceberg table: a column, a transform and its parameter."""

_UNITY_CATALOG_ARGUMENTS = ("table_comment", "table_tags", "column_hints", "insert_api")


def databricks_adapter(
    data: Any,
    cluster: str | Sequence[str] | None = None,
    partition: str | Sequence[str] | None = None,
    table_format: str = "DELTA",
    table_properties: Mapping[str, Any] | None = None,
    **unity_catalog: Any,
) -> Resource:
    """Set the clustering or partition columns, the format and the properties of a table on a resource.

    >>> orders = databricks_adapter([{"id": 1}], cluster="id", table_properties={"delta.appendOnly": True})
    >>> orders.name, orders.compute_table_schema()["columns"]["id"]["cluster"]
    ('content', True)
    """
    refused = [name for name in unity_catalog if name not in _UNITY_CATALOG_ARGUMENTS]
    if refused:
        raise TypeError(f"databricks_adapter() has no argument {refused[0]!r}")
    if given := [name for name, value in unity_catalog.items() if value is not None]:
        raise UsageError(
            f"{' and '.join(given)} of databricks_adapter are features of Databricks, not of Delta tables",
            hint="leave them out, and set comments and tags by SQL in the catalog",
        )
    if cluster == "AUTO":
        raise UsageError(
            "only Databricks chooses clustering columns by itself", hint="name the columns, or leave it out"
        )
    columns = {
        **{name: {"name": name, "cluster": True} for name in _names(cluster)},
        **{name: {"name": name, "partition": True} for name in _names(partition)},
    }
    hints = {"x-table-properties": dict(table_properties)} if table_properties else None
    return adapted_resource(data).apply_hints(
        columns=columns or None, additional_table_hints=hints, table_format=table_format.lower()
    )


def iceberg_adapter(
    data: Any,
    partition: str | PartitionSpec | Sequence[str | PartitionSpec] | None = None,
    table_properties: Mapping[str, str] | None = None,
) -> Resource:
    """Set the partitions and properties of an Iceberg table on a resource.

    >>> visits = iceberg_adapter([{"at": "2024-01-02"}], partition=iceberg_partition.month("at"))
    >>> visits.compute_table_schema()["x-iceberg-partition"]
    [{'transform': 'month', 'source_column': 'at'}]
    """
    partitions = [partition] if isinstance(partition, (str, dict)) else partition or ()
    specs = [iceberg_partition.identity(spec) if isinstance(spec, str) else spec for spec in partitions]
    hints = {
        **({"x-iceberg-partition": specs} if specs else {}),
        **({"x-table-properties": dict(table_properties)} if table_properties else {}),
    }
    return adapted_resource(data).apply_hints(additional_table_hints=hints or None)


class iceberg_partition:  # noqa: N801 - dlt's name for it
    """Partitions of Iceberg tables by a transform of a column.

    Names of partition fields are kept in the hint; Spark chooses its own when it creates the table.

    >>> iceberg_partition.bucket(8, "id")
    {'transform': 'bucket', 'source_column': 'id', 'param_value': 8}
    """

    @staticmethod
    def identity(column_name: str) -> PartitionSpec:
        """Return the partition by the values of a column."""
        return {"transform": "identity", "source_column": column_name}

    @staticmethod
    def year(column_name: str, partition_field_name: str | None = None) -> PartitionSpec:
        """Return the partition by year."""
        return _spec("year", column_name, partition_field_name)

    @staticmethod
    def month(column_name: str, partition_field_name: str | None = None) -> PartitionSpec:
        """Return the partition by month."""
        return _spec("month", column_name, partition_field_name)

    @staticmethod
    def day(column_name: str, partition_field_name: str | None = None) -> PartitionSpec:
        """Return the partition by day."""
        return _spec("day", column_name, partition_field_name)

    @staticmethod
    def hour(column_name: str, partition_field_name: str | None = None) -> PartitionSpec:
        """Return the partition by hour."""
        return _spec("hour", column_name, partition_field_name)

    @staticmethod
    def bucket(num_buckets: int, column_name: str, partition_field_name: str | None = None) -> PartitionSpec:
        """Return the partition by a hash of the values, in so many buckets."""
        return _spec("bucket", column_name, partition_field_name, num_buckets)

    @staticmethod
    def truncate(width: int, column_name: str, partition_field_name: str | None = None) -> PartitionSpec:
        """Return the partition by the first characters of a text, or by a number rounded down."""
        return _spec("truncate", column_name, partition_field_name, width)


def _spec(transform: str, column: str, field: str | None, parameter: int | None = None) -> PartitionSpec:
    optional = {"partition_field": field, "param_value": parameter}
    given = {name: value for name, value in optional.items() if value is not None}
    return {"transform": transform, "source_column": column, **given}


def _names(columns: str | Sequence[str] | None) -> Sequence[str]:
    return (columns,) if isinstance(columns, str) else columns or ()
