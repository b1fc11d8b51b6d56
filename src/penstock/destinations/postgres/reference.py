"""The destination reference of `postgres`."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

from penstock.config import config_value
from penstock.destinations.postgres.settings import PostgresConfiguration
from penstock.destinations.postgres.types import PostgresTypeMapper
from penstock.destinations.sql.dialect import SqlDialect
from penstock.errors import MissingExtra, UsageError
from penstock.interfaces import DestinationCapabilitiesContext, configured

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.destinations.postgres.adapter import PostgresClient
    from penstock.destinations.postgres.connection import ConnectionLimit
    from penstock.destinations.postgres.executors import ExecutorLibraries
    from penstock.interfaces import DestinationClientConfiguration
    from penstock.schema import Schema

_MAX_NAME_BYTES: Final = 63
_CAPABILITIES: Final = DestinationCapabilitiesContext(
    supported_write_dispositions=("append", "replace", "merge"),
    supported_merge_strategies=("delete-insert", "upsert", "insert-only", "scd2"),
    # All of them are part of the transaction of a load.
    supported_replace_strategies=("truncate-and-insert", "insert-from-staging", "staging-optimized"),
    max_identifier_length=_MAX_NAME_BYTES,
    max_column_identifier_length=_MAX_NAME_BYTES,
    has_case_sensitive_identifiers=True,
    # Executors copy rows by themselves.
    spark_needs=(),
    type_mapper=PostgresTypeMapper,
    # Those of dlt.
    decimal_precision=(38, 9),
    wei_precision=(156, 78),
    supports_transactions=True,
    supports_ddl_transactions=True,
    renews_tables=True,
    merges_driver_files=True,
    max_text_data_type_length=1024 * 1024 * 1024,
    max_query_length=32 * 1024 * 1024,
    sqlglot_dialect="postgres",
)


class PostgresReference:
    """Schemas of a Postgres database."""

    def __init__(self) -> None:
        self._limits: dict[tuple[str, int], ConnectionLimit] = {}
        self._executors: ExecutorLibraries | None = None
        self._lock = threading.Lock()

    @property
    def client_class(self) -> type[PostgresClient]:
        """The class of the clients."""
        # Imported here: settings and capabilities are read where psycopg is not installed.
        try:
            from penstock.destinations.postgres.adapter import PostgresClient  # noqa: PLC0415
        except ModuleNotFoundError as error:
            if error.name is None or error.name.partition(".")[0] != "psycopg":
                raise
            raise MissingExtra(extra="postgres", needed_for="the destination postgres") from error
        except ImportError as error:
            raise UsageError(
                f"psycopg cannot be loaded: {' '.join(str(error).split())}",
                hint="pip install 'psycopg[binary]', which brings libpq, or install libpq of the system",
            ) from error
        return PostgresClient

    def capabilities(self) -> DestinationCapabilitiesContext:
        """Return the capabilities of the destination."""
        return _CAPABILITIES

    def spec(self) -> type[PostgresConfiguration]:
        """Return the class of the settings."""
        return PostgresConfiguration

    def client(
        self,
        schema: Schema,
        initial_config: DestinationClientConfiguration = config_value,
        *,
        spark: SparkSession | None = None,
    ) -> PostgresClient:
        """Return a client for one dataset."""
        client_class = self.client_class
        from penstock.destinations.postgres.connection import (  # noqa: PLC0415 - as above
            ConnectionLimit,
            PostgresDatabase,
        )
        from penstock.destinations.postgres.executors import ExecutorLibraries  # noqa: PLC0415 - as above

        config = configured(PostgresConfiguration, initial_config)
        with self._lock:
            key = (str(config), config.max_connections)
            limit = self._limits.setdefault(key, ConnectionLimit(config.max_connections))
            self._executors = executors = self._executors or ExecutorLibraries()
        dialect = SqlDialect(name="postgres", types=PostgresTypeMapper(_CAPABILITIES))
        database = PostgresDatabase(config, dialect, limit)
        return client_class(schema, config, _CAPABILITIES, database, executors, spark=spark)


POSTGRES: Final = PostgresReference()
