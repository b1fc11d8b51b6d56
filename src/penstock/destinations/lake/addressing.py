"""Addressing of the tables of a dataset, and the operations that all table formats share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from pyspark.errors import AnalysisException

from penstock.config import redact
from penstock.errors import DestinationTerminalException
from penstock.package.sql import quote_name
from penstock.spark.sqltext import check_table_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogNames:
    """Names of three parts in a catalog of Spark's, such as that of the session, Unity or Glue."""

    catalog: str
    dataset: str

    def initialize(self, *, spark: SparkSession) -> None:
        """Create the schema if it does not exist; an existing one needs no permission to create."""
        name = quote_name(self.catalog, self.dataset)
        try:
            if not self._schema_exists(spark):
                spark.sql(f"CREATE SCHEMA IF NOT EXISTS {name}")
        except AnalysisException as error:
            if self._schema_exists(spark):  # another process created it
                return
            raise DestinationTerminalException(
                f"schema {name} does not exist and cannot be created: {redact(str(error)).splitlines()[0]}",
                hint=f"set spark.sql.catalog.{self.catalog} in the session, or have the schema created",
            ) from error

    def _schema_exists(self, spark: SparkSession) -> bool:
        try:
            return spark.catalog.databaseExists(quote_name(self.catalog, self.dataset))
        except AnalysisException:
            return False

    def sql_name(self, table: str) -> str:
        """Return the name of a table in SQL."""
        return quote_name(self.catalog, self.dataset, table)

    def exists(self, table: str, *, spark: SparkSession) -> bool:
        """Return whether a table exists in the catalog."""
        return spark.catalog.tableExists(self.sql_name(table))

    def read(self, table: str, version: int | None, *, spark: SparkSession) -> DataFrame:
        """Return a frame over a table in the given session."""
        name = self.sql_name(table)
        check_table_name(name, spark=spark)
        reader = spark.read
        if version is not None:
            reader = reader.option("versionAsOf", version)
        return reader.table(name)


class TableAddressing(Protocol):
    """The addresses of the tables of one dataset."""

    def initialize(self, *, spark: SparkSession) -> None:
        """Create the schema of the catalog if it does not exist."""

    def exists(self, table: str, *, spark: SparkSession) -> bool:
        """Return whether a table exists."""

    def sql_name(self, table: str) -> str:
        """Return the name of a table in SQL."""


Addressing = TypeVar("Addressing", bound=TableAddressing)


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetTables(Generic[Addressing]):
    """The tables of one dataset, in any format."""

    addressing: Addressing
    properties: Mapping[str, Any] = field(default_factory=dict)
    """Properties of all tables, beside those in the hints of each."""

    @property
    def file_columns(self) -> tuple[str, str | None]:
        """The columns with the file of a row and its size; None for a size that is not known."""
        return "_metadata.file_path", "_metadata.file_size"

    def initialize(self, *, spark: SparkSession) -> None:
        """Create the schema of the catalog if it does not exist."""
        self.addressing.initialize(spark=spark)

    def exists(self, table: str, *, spark: SparkSession) -> bool:
        """Return whether a table exists."""
        return self.addressing.exists(table, spark=spark)

    def sql_name(self, table: str) -> str:
        """Return the name of a table in SQL."""
        return self.addressing.sql_name(table)
