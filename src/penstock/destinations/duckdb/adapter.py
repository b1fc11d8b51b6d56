"""The client of DuckDB: the transaction of a load reads the files of its package, so nothing is staged."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Self

from sqlglot import exp

from penstock.destinations.duckdb.database import DuckDbDatabase
from penstock.destinations.duckdb.staged_files import staged_files
from penstock.destinations.sql.client import SqlClient
from penstock.destinations.sql.dialect import SqlDialect
from penstock.destinations.sql.staged_frame import staged_frame
from penstock.errors import InternalError
from penstock.package.layout import DATA_FOLDER, LOADER_FILES_FOLDER
from penstock.package.loader_files import LoaderFiles, find_loader_files
from penstock.package.storage import FileStorage
from penstock.spark.paths import spark_path

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from penstock.destinations.duckdb.settings import DuckDbConfiguration
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
        super().__init__(schema, config, capabilities, database)
        self._spark = spark

    def __enter__(self) -> Self:
        """Keep the file open from its first use until the client is closed."""
        self.database.keep_open()
        self.when_closed(self.database.close)
        return super().__enter__()

    def stage_rows(self, job: JobFile, table: Table) -> None:
        """Write the rows of a job to files if they need a projection; others are read as they are."""
        if job.is_flat or find_loader_files(FileStorage(job.package_path), job.name.job_id()) is not None:
            return
        if self._spark is None:
            raise InternalError("the client has no session for a projection", hint="report this")
        write_staged_files(job, self._spark, with_position=self.is_merged(table.name))

    def staged_table(self, job: JobFile, table: Table) -> StagedTable:
        """Return the files of a job."""
        del table
        return staged_files(job)

    def table_version(self, table: str, *, spark: SparkSession) -> int | None:
        """Return None: tables have no versions."""
        return None

    def read(self, table: str, version: int | None = None, *, spark: SparkSession) -> DataFrame:
        """Return a frame over a copy of a table."""
        del version
        with self.database.connect() as connection:
            rows = connection.query_rows(exp.select("*").from_(self.names.table(table)))
        return spark.createDataFrame(rows)


def write_staged_files(job: JobFile, spark: SparkSession, *, with_position: bool) -> None:
    """Write the rows of a job to files of its package, and record them there once they are complete."""
    store, job_id = FileStorage(job.package_path), job.name.job_id()
    folder = f"{DATA_FOLDER}/{LOADER_FILES_FOLDER}/{job_id}/{uuid.uuid4().hex[:12]}"
    frame = staged_frame(job, spark, with_position=with_position)
    frame.write.mode("overwrite").parquet(spark_path(store.path(folder)))
    names = sorted(name for name in store.names(folder) if name[0] not in "._")
    paths = tuple(store.path(f"{folder}/{name}") for name in names)
    LoaderFiles(file_format="parquet", paths=paths).save(store, job_id)
