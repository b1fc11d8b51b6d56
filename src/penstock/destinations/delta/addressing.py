"""Addressing of Delta tables: by their folders, or by their names in a catalog."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from penstock.destinations.lake.addressing import CatalogNames
from penstock.package.sql import quote_name
from penstock.spark.paths import spark_path
from penstock.spark.presets import SAFE_COMMIT_CONF
from penstock.spark.session import missing_conf

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

    from penstock.destinations.delta.file_commit_plan import WriteMode
    from penstock.package.storage import FileStorage

# VACUUM deletes no folder with the marker of a complete job.
_MARKER_CONF: Final = "mapreduce.fileoutputcommitter.marksuccessfuljobs"
_TABLE_MARKERS: Final = (f"{0:020}.json", "_last_checkpoint")


@dataclass(frozen=True, slots=True)
class PathTables:
    """One folder for each table, below the folder of the dataset.

    A table exists if its log has the first commit or a checkpoint. Only the names of these files are looked
    up, without a session. A folder alone is no table: another writer may be about to create one in it.
    """

    store: FileStorage

    @property
    def requires_create_table(self) -> bool:
        """Whether a table must be created before its first rows are written."""
        return False

    def initialize(self, *, spark: SparkSession) -> None:
        """Do nothing: a folder is created with its first file."""

    def table_names(self) -> tuple[str, ...]:
        """Return the existing tables."""
        return tuple(name for name in self.store.names("") if self._is_table(name))

    def address(self, table: str) -> str:
        """Return the path of a table as Spark writes it."""
        return spark_path(f"{self.store.root}/{table}")

    def sql_name(self, table: str) -> str:
        """Return the name of a table in SQL."""
        return quote_name("delta", self.address(table))

    def exists(self, table: str, *, spark: SparkSession) -> bool:
        """Return whether a table exists."""
        del spark
        return self._is_table(table)

    def _is_table(self, table: str) -> bool:
        return any(self.store.has_file(f"{table}/_delta_log/{name}") for name in _TABLE_MARKERS)

    def read(self, table: str, version: int | None, *, spark: SparkSession) -> DataFrame:
        """Return a frame over a table; the session may lack the credentials of the store."""
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
        """Write rows in one commit; `partitions` apply if it creates the table."""
        writer = rows.write.format("delta").mode(mode).options(**options)
        if partitions:
            writer = writer.partitionBy(*partitions)
        writer.save(self.address(table))

    def write_files(self, table: str, rows: DataFrame, folder: str) -> None:
        """Write rows as Parquet files into a new subfolder of a table's folder, without a commit.

        The subfolder has complete files only; Spark moves them there when the job ends.
        """
        spark = rows.sparkSession
        options = {**SAFE_COMMIT_CONF, _MARKER_CONF: "false", **missing_conf(self.store.hadoop_conf, spark)}
        writer = rows.write.format("parquet").options(**options)
        writer.save(f"{self.address(table)}/{folder}")

    def recreate(
        self,
        table: str,
        rows: DataFrame,
        options: Mapping[str, str],
        partitions: tuple[str, ...],
        properties: Mapping[str, str],
    ) -> None:
        """Replace the rows, columns and partitions of a table in one commit; its properties are kept."""
        del properties
        self.write(table, rows, "overwrite", {**options, "overwriteSchema": "true"}, partitions)

    def drop(self, table: str, *, spark: SparkSession) -> None:
        """Delete the folder of a table."""
        del spark
        self.store.delete(table)

    def drop_all(self, *, spark: SparkSession) -> None:
        """Do nothing: the folder of the dataset is deleted with its ledger."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogTables(CatalogNames):
    """Names in a catalog that supports Delta tables."""

    @property
    def requires_create_table(self) -> bool:
        """Whether a table must be created before its first rows are written."""
        return True

    def write(
        self,
        table: str,
        rows: DataFrame,
        mode: WriteMode,
        options: Mapping[str, str],
        partitions: tuple[str, ...],
    ) -> None:
        """Write rows in one commit into an existing table."""
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
        """Replace a table with one of these rows, partitions and properties, in one commit."""
        writer = rows.writeTo(self.sql_name(table)).using("delta").options(**options)
        if partitions:
            first, *others = (F.col(quote_name(name)) for name in partitions)
            writer = writer.partitionedBy(first, *others)
        for name, value in properties.items():
            writer = writer.tableProperty(name, value)
        writer.createOrReplace()

    def drop(self, table: str, *, spark: SparkSession) -> None:
        """Drop a table from the catalog, with the files that the catalog manages."""
        spark.sql(f"DROP TABLE IF EXISTS {self.sql_name(table)}")

    def drop_all(self, *, spark: SparkSession) -> None:
        """Drop the schema with all its tables."""
        spark.sql(f"DROP SCHEMA IF EXISTS {quote_name(self.catalog, self.dataset)} CASCADE")


DeltaAddressing = PathTables | CatalogTables
