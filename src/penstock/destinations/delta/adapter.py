"""Writes Delta tables: one atomic commit for each table, marked with the load's sequence number."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from penstock.errors import (
    CommitLost,
    DestinationAhead,
    DestinationTerminalException,
    InternalError,
    UsageError,
)
from penstock.interfaces import (
    AppliedJob,
    JobClientBase,
    LoadJob,
    ParsedLoadJobFileName,
    StateInfo,
    StorageSchemaInfo,
    TLoadJobState,
    WithLedger,
    WithPackageStorage,
    WithStateSync,
    WithTableVersions,
    WithUndo,
)
from penstock.package import read_job
from penstock.package.ledger import FileLedger
from penstock.package.sql import quoted
from penstock.package.storage import FileStorage
from penstock.spark.paths import spark_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import DataFrame, Row, SparkSession

    from penstock.destinations.delta.settings import DeltaConfiguration
    from penstock.interfaces import DestinationCapabilitiesContext, LoadMark
    from penstock.schema import Schema, TTableSchema

_LAST_COMMIT = "spark.databricks.delta.lastCommitVersionInSession"
_COMMIT_METADATA = "spark.databricks.delta.commitInfo.userMetadata"
_PACKAGES = "_dlt_pkg"
# How far back a commit of the load that is being resumed may stand.
_HISTORY = 50


class DeltaClient(JobClientBase, WithStateSync, WithLedger, WithPackageStorage, WithTableVersions, WithUndo):
    """A Delta lake opened for one dataset."""

    def __init__(
        self,
        schema: Schema,
        config: DeltaConfiguration,
        capabilities: DestinationCapabilitiesContext,
        *,
        spark: SparkSession | None = None,
    ) -> None:
        super().__init__(schema, config, capabilities)
        self._dataset = config.normalize_dataset_name(schema)
        self._root = f"{(config.bucket_url or '').rstrip('/')}/{self._dataset}"
        self._store, self._spark = FileStorage(self._root), spark

    def initialize_storage(self, truncate_tables: Iterable[str] | None = None) -> None:
        """Make the dataset's folder; each listed table is emptied by one commit of its own."""
        self.ledger().initialize()
        for table in truncate_tables or ():
            if self._store.exists(f"{table}/_delta_log"):
                self._session().sql(f"DELETE FROM {self._sql_name(table)}")

    def is_storage_initialized(self) -> bool:
        """Whether anything was ever loaded here, by dlt or by us."""
        return self.ledger().is_initialized()

    def drop_storage(self) -> None:
        """Delete the dataset with all its tables and packages."""
        self._store.delete("")

    def start_file_load(self, table: TTableSchema, file_path: str, load_id: str) -> LoadJob:
        """Commit one table, once, whatever happened before; the job is done when this returns."""
        return DeltaLoadJob(self, table, file_path)

    def restore_file_load(self, file_path: str) -> LoadJob:
        """Start again: what was committed under the same mark is not committed twice."""
        table = ParsedLoadJobFileName.parse(file_path).table_name
        return DeltaLoadJob(self, self.prepare_load_table(table), file_path)

    def complete_load(self, load_id: str) -> None:
        """Nothing to do: the row in the ledger is the mark, and it is there."""

    def ledger(self) -> FileLedger:
        """The ledger in dlt's file form, beside the tables."""
        return FileLedger(self._store)

    def package_root(self, pipeline_name: str) -> str:
        """Packages stand next to the data, where executors reach them."""
        return f"{self._root}/{_PACKAGES}/{pipeline_name}"

    def get_stored_schema(self) -> StorageSchemaInfo | None:
        """The newest version of the client's schema in the ledger."""
        return self.ledger().last_schema(self.schema.name)

    def get_stored_state(self, pipeline_name: str) -> StateInfo | None:
        """The state after the last complete load of a pipeline."""
        return self.ledger().last_state(pipeline_name)

    def displayable_location(self) -> str:
        """The folder of the dataset, without credentials."""
        return f"{self.config}/{self._dataset}"

    def table_names(self) -> tuple[str, ...]:
        """The data tables that exist here."""
        return tuple(name for name in self._store.names("") if self._store.exists(f"{name}/_delta_log"))

    def table_version(self, table: str, *, spark: SparkSession) -> int | None:
        """The number of the newest commit; None where there is no such table."""
        if not self._store.exists(f"{table}/_delta_log"):
            return None
        newest = spark.sql(f"DESCRIBE HISTORY {self._sql_name(table)} LIMIT 1").select("version").collect()
        return int(newest[0]["version"])

    def read(self, table: str, version: int | None = None, *, spark: SparkSession) -> DataFrame:
        """A frame over a table in the given session."""
        reader = spark.read.format("delta")
        if version is not None:
            reader = reader.option("versionAsOf", version)
        return reader.load(spark_path(self._path(table)))

    def undo(self, applied: AppliedJob, load_id: str) -> None:
        """Bring a table back to the version before a job by one commit, unless it has moved on since.

        A table that the job had made is left without rows: Delta has no version before the first.
        """
        if applied.version_after is None:
            return
        spark, table = self._session(), self._sql_name(applied.table)
        newest = spark.sql(f"DESCRIBE HISTORY {table} LIMIT 1").select("version", "userMetadata").collect()[0]
        mark = json.dumps({"undone": load_id, "version": applied.version_after})
        if newest["userMetadata"] == mark:
            return
        if int(newest["version"]) != applied.version_after:
            raise DestinationTerminalException(
                f"{applied.table} was changed after version {applied.version_after} and cannot be taken back",
                hint=f"bring the table back by hand to what it was before load {load_id}",
            )
        spark.conf.set(_COMMIT_METADATA, mark)
        try:
            if applied.version_before is None:
                spark.sql(f"DELETE FROM {table}")
            else:
                spark.sql(f"RESTORE TABLE {table} TO VERSION AS OF {applied.version_before}")
        finally:
            spark.conf.unset(_COMMIT_METADATA)

    def append(self, table: str, rows: DataFrame, mark: LoadMark, *, spark: SparkSession) -> AppliedJob:
        """Append once.

        Delta skips a write whose transaction it has; whether it did is read from the session.
        """
        spark.conf.unset(_LAST_COMMIT)
        (
            rows.write.format("delta")
            .mode("append")
            .option("mergeSchema", "true")
            .option("txnAppId", f"penstock/{mark.pipeline_name}")
            .option("txnVersion", str(mark.sequence))
            .option("userMetadata", _metadata(mark))
            .save(spark_path(self._path(table)))
        )
        version = spark.conf.get(_LAST_COMMIT, None)
        commit = self._find_commit(table, mark, version=version, spark=spark)
        counted = (commit["operationMetrics"] or {}).get("numOutputRows")
        after = int(commit["version"])
        return AppliedJob(
            table=table,
            rows=int(counted) if counted is not None else None,
            version_before=after - 1 if after else None,
            version_after=after,
            skipped=version is None,
        )

    def load(self, table: TTableSchema, file_path: str) -> AppliedJob:
        """Commit the rows of a job file to their table."""
        if table.get("write_disposition", "append") != "append":
            raise UsageError(
                f"{table['name']} asks for {table['write_disposition']!r}, "
                "which the delta destination cannot do yet",
                hint="use write_disposition='append'",
            )
        job, spark = read_job(file_path), self._session()
        if job.mark is None:
            raise InternalError(f"{file_path} is not part of a sealed load", hint="report this")
        return self.append(table["name"], job.frame(spark), job.mark, spark=spark)

    def _find_commit(self, table: str, mark: LoadMark, *, version: str | None, spark: SparkSession) -> Row:
        """The commit of this load in the table's history.

        Nothing counts as written until it is seen there.
        """
        limit = 1 if version is not None else _HISTORY
        history = spark.sql(f"DESCRIBE HISTORY {self._sql_name(table)} LIMIT {limit}")
        for commit in history.select("version", "operationMetrics", "userMetadata").collect():
            if commit["userMetadata"] == _metadata(mark):
                return commit
        if version is None:
            raise DestinationAhead(table=table, sequence=mark.sequence)
        raise CommitLost(table=table, sequence=mark.sequence)

    def _path(self, table: str) -> str:
        return f"{self._root}/{table}"

    def _sql_name(self, table: str) -> str:
        return quoted("delta", spark_path(self._path(table)))

    def _session(self) -> SparkSession:
        if self._spark is None:
            raise InternalError("a Delta table was to be written without a Spark session")
        return self._spark


class DeltaLoadJob(LoadJob):
    """The rows of one job file in their table; done as soon as it exists."""

    def __init__(self, client: DeltaClient, table: TTableSchema, file_path: str) -> None:
        super().__init__(ParsedLoadJobFileName.parse(file_path).file_name())
        self._applied = client.load(table, file_path)

    def state(self) -> TLoadJobState:
        """Always `completed`: an error would have been raised."""
        return "completed"

    def exception(self) -> str:
        """Nothing went wrong."""
        return ""

    def applied(self) -> Sequence[AppliedJob]:
        """The commit: its rows, and the versions before and after it."""
        return (self._applied,)


def _metadata(mark: LoadMark) -> str:
    return json.dumps({"load_id": mark.load_id, "sequence": mark.sequence, "manifest": mark.manifest_hash})
