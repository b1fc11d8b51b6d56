"""How the tables of a dataset are called: by the folder that they stand in, or by their name in a catalog."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from pyspark.sql import functions as F

from penstock.destinations.lake.catalog import CatalogNames
from penstock.package.sql import quote_name
from penstock.spark.paths import spark_path
from penstock.spark.session import missing_conf

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal

    from pyspark.sql import DataFrame, SparkSession

    from penstock.package.storage import FileStorage

    WriteMode = Literal["append", "overwrite"]

_TABLE_MARKERS: Final = (f"{0:020}.json", "_last_checkpoint")


class DeltaAddressing(Protocol):
    """Where the tables of one dataset are."""

    @property
    def requires_create_table(self) -> bool:
        """Whether a table must be made before it is written to."""

    def initialize(self, *, spark: SparkSession) -> None:
        """Make room for tables, where there is none."""

    def sql_name(self, table: str) -> str:
        """A table in SQL."""

    def exists(self, table: str, *, spark: SparkSession) -> bool:
        """Whether there is such a table."""

    def read(self, table: str, version: int | None, *, spark: SparkSession) -> DataFrame:
        """A frame over a table in the given session."""

    def write(
        self,
        table: str,
        rows: DataFrame,
        mode: WriteMode,
        options: Mapping[str, str],
        partitions: tuple[str, ...],
    ) -> None:
        """Write rows in one commit; `partitions` count where that makes the table."""

    def recreate(
        self,
        table: str,
        rows: DataFrame,
        options: Mapping[str, str],
        partitions: tuple[str, ...],
        properties: Mapping[str, str],
    ) -> None:
        """Put a table with these rows in the place of the one that is there, in one commit."""

    def drop(self, table: str, *, spark: SparkSession) -> None:
        """Take a table away with all its rows, if it is there."""

    def drop_all(self, *, spark: SparkSession) -> None:
        """Take everything away."""


@dataclass(frozen=True, slots=True)
class PathTables:
    """A folder for each table, below that of the dataset.

    Whether there is a table is seen by its first commit, or by what came of it when that was tidied away: a
    name, which needs no session. Nobody looks into these files. The folder alone is no table yet: another
    writer may be about to make it.
    """

    store: FileStorage

    @property
    def requires_create_table(self) -> bool:
        """The first rows make the table."""
        return False

    def initialize(self, *, spark: SparkSession) -> None:
        """Folders come with the first file in them."""

    def table_names(self) -> tuple[str, ...]:
        """The tables that exist."""
        return tuple(name for name in self.store.names("") if self._is_table(name))

    def address(self, table: str) -> str:
        """Where a table is, as Spark writes it."""
        return spark_path(f"{self.store.root}/{table}")

    def sql_name(self, table: str) -> str:
        """A table in SQL."""
        return quote_name("delta", self.address(table))

    def exists(self, table: str, *, spark: SparkSession) -> bool:
        """Whether there is such a table."""
        del spark
        return self._is_table(table)

    def _is_table(self, table: str) -> bool:
        return any(self.store.exists(f"{table}/_delta_log/{name}") for name in _TABLE_MARKERS)

    def read(self, table: str, version: int | None, *, spark: SparkSession) -> DataFrame:
        """A frame over a table in the given session, which need not know the keys of the store."""
        reader = spark.read.format("delta").options(**missing_conf(self.store.hadoop_conf, spark))
        if version is not None:
            reader = reader.option("versionAsOf", version)
        return reader.load(self.address(table))

    def write(
        self,
        table: str,
        rows: DataFrame,
        mode: WriteMode,
        options: Mapping[str, str],
        partitions: tuple[str, ...],
    ) -> None:
        """Write rows in one commit."""
        writer = rows.write.format("delta").mode(mode).options(**options)
        if partitions:
            writer = writer.partitionBy(*partitions)
        writer.save(self.address(table))

    def recreate(
        self,
        table: str,
        rows: DataFrame,
        options: Mapping[str, str],
        partitions: tuple[str, ...],
        properties: Mapping[str, str],
    ) -> None:
        """Write rows in one commit, and give the table their columns and these partitions."""
        del properties  # the folder keeps those that it has
        self.write(table, rows, "overwrite", {**options, "overwriteSchema": "true"}, partitions)

    def drop(self, table: str, *, spark: SparkSession) -> None:
        """Delete the folder of a table."""
        del spark
        self.store.delete(table)

    def drop_all(self, *, spark: SparkSession) -> None:
        """The folder of the dataset goes with its ledger."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogTables(CatalogNames):
    """Names in a catalog that knows Delta tables."""

    @property
    def requires_create_table(self) -> bool:
        """A catalog is told of a table before rows come."""
        return True

    def write(
        self,
        table: str,
        rows: DataFrame,
        mode: WriteMode,
        options: Mapping[str, str],
        partitions: tuple[str, ...],
    ) -> None:
        """Write rows in one commit into the table that is there; it stays what it is otherwise."""
        del partitions
        writer = rows.writeTo(self.sql_name(table)).options(**options)
        if mode == "append":
            writer.append()
        else:
            writer.overwrite(F.lit(True))  # noqa: FBT003 - a condition that all rows fulfil

    def recreate(
        self,
        table: str,
        rows: DataFrame,
        options: Mapping[str, str],
        partitions: tuple[str, ...],
        properties: Mapping[str, str],
    ) -> None:
        """Put a table with these rows, partitions and properties in the place of the one that is there."""
        writer = rows.writeTo(self.sql_name(table)).using("delta").options(**options)
        if partitions:
            first, *others = (F.col(quote_name(name)) for name in partitions)
            writer = writer.partitionedBy(first, *others)
        for name, value in properties.items():
            writer = writer.tableProperty(name, value)
        writer.createOrReplace()

    def drop(self, table: str, *, spark: SparkSession) -> None:
        """Drop a table from the catalog, and its files if they are the catalog's."""
        spark.sql(f"DROP TABLE IF EXISTS {self.sql_name(table)}")

    def drop_all(self, *, spark: SparkSession) -> None:
        """Drop the schema with all its tables."""
        spark.sql(f"DROP SCHEMA IF EXISTS {quote_name(self.catalog, self.dataset)} CASCADE")
