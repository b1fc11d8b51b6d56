"""Tables by their names in a catalog of Spark's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException

from penstock.config import redact
from penstock.errors import DestinationTerminalException
from penstock.package.sql import quote_name
from penstock.spark.sqltext import check_table_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogNames:
    """Names of three parts in a catalog of Spark's, such as that of the session, Unity or Glue."""

    catalog: str
    dataset: str

    def initialize(self, *, spark: SparkSession) -> None:
        """Make the schema if it is not there: who may only write to it need not be allowed to make it."""
        name = quote_name(self.catalog, self.dataset)
        try:
            if not self._schema_exists(spark):
                spark.sql(f"CREATE SCHEMA IF NOT EXISTS {name}")
        except AnalysisException as error:
            if self._schema_exists(spark):  # somebody else was first
                return
            raise DestinationTerminalException(
                f"there is no schema {name}, and it cannot be made: {redact(str(error)).splitlines()[0]}",
                hint=f"set spark.sql.catalog.{self.catalog} in the session, or have the schema made",
            ) from error

    def _schema_exists(self, spark: SparkSession) -> bool:
        try:
            return spark.catalog.databaseExists(quote_name(self.catalog, self.dataset))
        except AnalysisException:
            return False

    def sql_name(self, table: str) -> str:
        """A table in SQL."""
        return quote_name(self.catalog, self.dataset, table)

    def exists(self, table: str, *, spark: SparkSession) -> bool:
        """Whether the catalog knows such a table."""
        return spark.catalog.tableExists(self.sql_name(table))

    def read(self, table: str, version: int | None, *, spark: SparkSession) -> DataFrame:
        """A frame over a table in the given session."""
        name = self.sql_name(table)
        check_table_name(name, spark=spark)
        reader = spark.read
        if version is not None:
            reader = reader.option("versionAsOf", version)
        return reader.table(name)
