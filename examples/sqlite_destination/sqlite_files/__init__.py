"""SQLite as a destination of penstock: a file for each dataset."""

from pyspark.sql import SparkSession

from penstock.config import config_value
from penstock.destinations.sql import SqlClient, SqlDialect
from penstock.interfaces import (
    DestinationCapabilitiesContext,
    DestinationClientConfiguration,
    configured,
)
from penstock.schema import Schema
from sqlite_files.adapter import SqliteDatabase
from sqlite_files.settings import SqliteConfiguration
from sqlite_files.types import SqliteTypes

CAPABILITIES = DestinationCapabilitiesContext(
    supported_write_dispositions=("append", "replace", "merge"),
    supported_merge_strategies=("delete-insert", "upsert", "scd2", "insert-only"),
    supported_replace_strategies=("truncate-and-insert", "insert-from-staging"),
    max_identifier_length=255,
    max_column_identifier_length=255,
    has_case_sensitive_identifiers=False,
    spark_needs=(),
    type_mapper=SqliteTypes,
    supports_transactions=True,
    supports_ddl_transactions=True,
    renews_tables=True,
    merges_driver_files=True,
    sqlglot_dialect="sqlite",
)


class SqliteReference:
    """What the entry point names: the settings, the capabilities, and a client for each dataset."""

    def spec(self) -> type[SqliteConfiguration]:
        return SqliteConfiguration

    def capabilities(self) -> DestinationCapabilitiesContext:
        return CAPABILITIES

    def client(
        self,
        schema: Schema,
        initial_config: DestinationClientConfiguration = config_value,
        *,
        spark: SparkSession | None = None,
    ) -> SqlClient:
        config = configured(SqliteConfiguration, initial_config)
        dialect = SqlDialect(name="sqlite", types=SqliteTypes(CAPABILITIES))
        database = SqliteDatabase(config.folder, config.normalize_dataset_name(schema), dialect)
        return SqlClient(schema, config, CAPABILITIES, database, spark=spark)


SQLITE = SqliteReference()
