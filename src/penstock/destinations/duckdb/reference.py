"""The destination reference of `duckdb`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from penstock.config import config_value
from penstock.destinations.duckdb.adapter import DuckDbClient
from penstock.destinations.duckdb.settings import DuckDbConfiguration
from penstock.destinations.duckdb.types import DuckDbTypes
from penstock.interfaces import DestinationCapabilitiesContext, configured

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.interfaces import DestinationClientConfiguration
    from penstock.schema import Schema

_CAPABILITIES: Final = DestinationCapabilitiesContext(
    supported_write_dispositions=("append", "replace", "merge"),
    supported_merge_strategies=("delete-insert", "upsert", "scd2", "insert-only"),
    # Both are part of the transaction of a load.
    supported_replace_strategies=("truncate-and-insert", "insert-from-staging"),
    # DuckDB has no limit; the names of job files have one.
    max_identifier_length=255,
    max_column_identifier_length=255,
    has_case_sensitive_identifiers=False,
    spark_needs=(),
    supported_loader_file_formats=("reference", "parquet"),
    type_mapper=DuckDbTypes,
    wei_precision=(38, 0),
    max_timestamp_precision=9,
    supports_transactions=True,
    supports_ddl_transactions=True,
    supports_truncate_command=False,
    alter_add_multi_column=False,
    renews_tables=True,
    merges_driver_files=True,
    needs_local_packages=True,
    sqlglot_dialect="duckdb",
)


class DuckDbReference:
    """DuckDB, with one file for each pipeline unless another one is named."""

    client_class = DuckDbClient

    def capabilities(self) -> DestinationCapabilitiesContext:
        """Return the capabilities of the destination."""
        return _CAPABILITIES

    def client(
        self,
        schema: Schema,
        initial_config: DestinationClientConfiguration = config_value,
        *,
        spark: SparkSession | None = None,
    ) -> DuckDbClient:
        """Return a client for one dataset."""
        config = configured(DuckDbConfiguration, initial_config)
        return self.client_class(schema, config, _CAPABILITIES, spark=spark)

    def spec(self) -> type[DuckDbConfiguration]:
        """Return the class of the settings."""
        return DuckDbConfiguration


DUCKDB: Final = DuckDbReference()
