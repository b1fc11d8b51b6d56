"""SQLite files as a destination of penstock, as a third party would publish it under `penstock-sqlite`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.interfaces import DestinationCapabilitiesContext, configured

from .adapter import SqliteClient
from .settings import SqliteConfiguration

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.schema import Schema


class SqliteReference:
    """The destination reference that the entry point names."""

    def capabilities(self) -> DestinationCapabilitiesContext:
        return DestinationCapabilitiesContext(
            supported_write_dispositions=("append", "replace", "merge"),
            supported_merge_strategies=("delete-insert",),
            supported_replace_strategies=("insert-from-staging",),
            max_identifier_length=60,
            max_column_identifier_length=60,
            has_case_sensitive_identifiers=False,
            spark_needs=(),
        )

    def client(
        self, schema: Schema, initial_config: Any = None, *, spark: SparkSession | None = None
    ) -> SqliteClient:
        return SqliteClient(
            schema, configured(SqliteConfiguration, initial_config), self.capabilities(), spark=spark
        )

    def spec(self) -> type[SqliteConfiguration]:
        return SqliteConfiguration


REFERENCE = SqliteReference()
