"""The client of DuckDB: the transaction of a load reads the files of its package, so nothing is staged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from penstock.destinations.duckdb.database import DuckDbDatabase
from penstock.destinations.duckdb.staged_files import staged_files
from penstock.destinations.sql.client import SqlClient
from penstock.destinations.sql.dialect import SqlDialect
from penstock.errors import InternalError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.destinations.duckdb.settings import DuckDbConfiguration
    from penstock.destinations.sql.connection import SqlConnection
    from penstock.destinations.sql.staging import StagedTable
    from penstock.interfaces import DestinationCapabilitiesContext
    from penstock.package import JobFile
    from penstock.schema import Schema, Table


class DuckDbClient(SqlClient):
    """A dataset in a file of DuckDB."""

    database: DuckDbDatabase

    def __init__(
        self,
        schema: Schema,
        config: DuckDbConfiguration,
        capabilities: DestinationCapabilitiesContext,
        *,
        spark: SparkSession | None = None,
    ) -> None:
        mapper = capabilities.get_type_mapper()
        if mapper is None:
            raise InternalError("DuckDB has no types", hint="report this")
        database = DuckDbDatabase(config, SqlDialect(name="duckdb", types=mapper))
        super().__init__(schema, config, capabilities, database, spark=spark)

    def __enter__(self) -> Self:
        """Keep the file open from its first use until the client is closed."""
        self.database.keep_open()
        self.when_closed(self.database.close)
        return super().__enter__()

    def staged_table(self, connection: SqlConnection, job: JobFile, table: Table) -> StagedTable:
        """Return the files of a job."""
        del connection, table
        return staged_files(job)
