"""Tables that other programs wrote, described by Spark: those of a catalog, and all Iceberg tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pyspark.errors import AnalysisException
from pyspark.sql import functions as F

from penstock.config import redact
from penstock.destinations.lake.existing_columns import (
    boundary_schema,
    check_cursor_values,
    existing_columns,
)
from penstock.destinations.lake.rows import column as frame_column
from penstock.errors import UsageError
from penstock.interfaces.existing_tables import ExistingTable
from penstock.spark.cursor import cursor_literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from penstock.destinations.lake.client import VersionedTables

_FLOATING: Final = frozenset(("float", "double"))
_PARTITIONS_BY_COLUMN: Final = "# Partition Information"
_PARTITIONS_BY_TRANSFORM: Final = "# Partitioning"


def _no_hints(partitions: Sequence[str]) -> Mapping[str, Any]:
    del partitions
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExistingSparkTables:
    """The tables of a dataset as a session reads them."""

    tables: VersionedTables
    spark: SparkSession
    partition_hints: Callable[[Sequence[str]], Mapping[str, Any]] = _no_hints
    """Returns the hints of a table by its partitions: names of columns and calls of transforms."""

    def describe(self, name: str) -> ExistingTable:
        """Return the current version of a table; raise `UsageError` for one that loads cannot continue."""
        if not self.tables.exists(name, spark=self.spark):
            raise UsageError(
                f"there is no table {self.tables.sql_name(name)}",
                hint="name a table of the dataset, which is its folder or its schema in the catalog",
                table=name,
            )
        version = self._version(name)
        fields = self._fields(name)
        partitions = self._partitions(name, after=len(fields))
        return ExistingTable(
            name=name,
            version=version,
            columns=existing_columns(name, fields, partitions),
            rows=self.tables.read(name, version, spark=self.spark).count(),
            hints=self.partition_hints(partitions),
        )

    def rows_at_maximum(self, existing: ExistingTable, column: str, columns: Sequence[str]) -> pa.Table:
        """Return columns of the rows with the greatest value of `column`.

        Two queries: an aggregate, which Iceberg answers from the metadata of files, and the rows themselves,
        from files that may have the value.
        """
        schema = boundary_schema(existing.name, self._fields(existing.name), columns)
        rows = self._rows(existing, columns)
        kind, cursor = dict(rows.dtypes)[column], frame_column(column)
        aggregates = [F.count(F.lit(1)), F.count(cursor), F.max(cursor)]
        if kind in _FLOATING:
            # The metadata of files leaves NaN out; with this aggregate the values are read.
            aggregates.append(F.count_if(F.isnan(cursor)))
        row_count, value_count, greatest, *nan_count = rows.agg(*aggregates).toArrow().columns
        null_count = row_count[0].as_py() - value_count[0].as_py()
        check_cursor_values(
            existing.name,
            column,
            null_count=null_count,
            has_nan=any(count[0].as_py() for count in nan_count),
        )
        if not row_count[0].as_py():
            return schema.empty_table()
        value = greatest.cast(schema.field(column).type)[0].as_py()
        return rows.where(cursor == cursor_literal(value, kind)).toArrow().cast(schema)

    def _version(self, name: str) -> int | None:
        try:
            return self.tables.version(name, spark=self.spark)
        except AnalysisException as error:
            raise UsageError(
                f"table {self.tables.sql_name(name)} has no versions: {redact(str(error)).splitlines()[0]}",
                hint="adopt a Delta table with the destination delta, and an Iceberg table with iceberg",
                table=name,
            ) from error

    def _rows(self, existing: ExistingTable, columns: Sequence[str]) -> DataFrame:
        """Return columns of the described version; those that were added after it are null."""
        newest = self.tables.read(existing.name, spark=self.spark)
        rows = self.tables.read(existing.name, existing.version, spark=self.spark)
        kinds = dict(newest.dtypes)
        return rows.select(
            *(
                frame_column(name) if name in rows.columns else F.lit(None).cast(kinds[name]).alias(name)
                for name in columns
            )
        )

    def _fields(self, name: str) -> list[dict[str, Any]]:
        """Return the columns of a table as Spark writes them in JSON."""
        fields: list[dict[str, Any]] = self.tables.read(name, spark=self.spark).schema.jsonValue()["fields"]
        return fields

    def _partitions(self, name: str, *, after: int) -> tuple[str, ...]:
        description = self.spark.sql(f"DESCRIBE TABLE {self.tables.sql_name(name)}").collect()
        return described_partitions((row[0], row[1]) for row in description[after:])


def described_partitions(rows: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return partitions from the rows of DESCRIBE TABLE below the columns: their names and their types.

    >>> described_partitions([("# Partition Information", ""), ("# col_name", "data_type"), ("day", "date")])
    ('day',)
    >>> described_partitions([("", ""), ("# Partitioning", ""), ("Part 0", "days(at)"), ("Part 1", "day")])
    ('days(at)', 'day')
    """
    partitions: list[str] = []
    section = ""
    for name, kind in rows:
        if name.startswith("# "):
            section = name if name != "# col_name" else section
        elif name and section == _PARTITIONS_BY_COLUMN:
            partitions.append(name)
        elif name and section == _PARTITIONS_BY_TRANSFORM:
            partitions.append(kind)
    return tuple(partitions)
