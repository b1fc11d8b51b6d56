"""Partitions of a table by an expression over a column, for Athena and BigQuery."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PartitionTransformation:
    """An expression with the placeholder `{column_name}`, and the column for it."""

    template: str
    column_name: str


class athena_partition:  # noqa: N801 - dlt's name for it
    """Partitions of Athena's Iceberg tables by a transform of a column.

    >>> athena_partition.bucket(8, "id").template
    'bucket(8, {column_name})'
    """

    @staticmethod
    def year(column_name: str) -> PartitionTransformation:
        """Return the partition by year."""
        return _call("year", column_name)

    @staticmethod
    def month(column_name: str) -> PartitionTransformation:
        """Return the partition by month."""
        return _call("month", column_name)

    @staticmethod
    def day(column_name: str) -> PartitionTransformation:
        """Return the partition by day."""
        return _call("day", column_name)

    @staticmethod
    def hour(column_name: str) -> PartitionTransformation:
        """Return the partition by hour."""
        return _call("hour", column_name)

    @staticmethod
    def bucket(n: int, column_name: str) -> PartitionTransformation:
        """Return the partition by a hash of the values, in `n` buckets."""
        return _call("bucket", column_name, n)

    @staticmethod
    def truncate(length: int, column_name: str) -> PartitionTransformation:
        """Return the partition by the first characters of the values."""
        return _call("truncate", column_name, length)


class bigquery_partition:  # noqa: N801 - dlt's name for it
    """Partitions of BigQuery tables by ranges of a whole number.

    >>> bigquery_partition.range_bucket("id", 0, 100, 10).template
    'RANGE_BUCKET({column_name}, GENERATE_ARRAY(0, 100, 10))'
    """

    @staticmethod
    def range_bucket(column_name: str, start: int, end: int, interval: int = 1) -> PartitionTransformation:
        """Return the partition by ranges of `interval` values from `start` to before `end`."""
        ranges = f"GENERATE_ARRAY({start}, {end}, {interval})"
        return PartitionTransformation(f"RANGE_BUCKET({{column_name}}, {ranges})", column_name)


def _call(function: str, column_name: str, *parameters: int) -> PartitionTransformation:
    arguments = ", ".join([*map(str, parameters), "{column_name}"])
    return PartitionTransformation(f"{function}({arguments})", column_name)
