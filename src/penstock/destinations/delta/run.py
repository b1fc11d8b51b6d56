"""Commits to Delta tables: each is atomic, marked with its load, and made once."""

from __future__ import annotations

import threading
import uuid
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from pyspark.errors import AnalysisException

from penstock.config import logger
from penstock.destinations.delta.addressing import DeltaAddressing, PathTables
from penstock.destinations.delta.commit_gate import COMMIT_GATE
from penstock.destinations.delta.commit_marks import USER_METADATA, statement_conf, transaction_options
from penstock.destinations.delta.conflicts import retry_on_conflict
from penstock.destinations.delta.ddl import (
    cluster_columns,
    cluster_statement,
    create_statement,
    partition_columns,
    table_properties,
)
from penstock.destinations.delta.file_commit import (
    Obstacle,
    commit_files,
    commit_job_files,
    read_data_files,
)
from penstock.destinations.delta.file_commit_plan import session_obstacle
from penstock.destinations.delta.history import (
    TableHistory,
    applied_job,
    create_table_metadata,
    fence_metadata,
    load_metadata,
    maintenance_metadata,
    parse_commit,
    undo_metadata,
)
from penstock.destinations.delta.log_commits import read_commit, read_commits
from penstock.destinations.delta.small_reads import count_deletion
from penstock.destinations.delta.table_restorer import TableRestorer
from penstock.destinations.lake.addressing import DatasetTables
from penstock.destinations.lake.ddl import changed_properties, set_properties_statement
from penstock.destinations.lake.run import has_rows_of
from penstock.errors import CommitLost, CommitRolledBack, DestinationAhead, DestinationTerminalException
from penstock.interfaces import AppliedJob, TableCommit, TableRestore, missing_table
from penstock.package.sql import quote_name
from penstock.spark.conf import temporary_conf
from penstock.spark.session import session_outlook

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence
    from contextlib import AbstractContextManager

    from pyspark.sql import DataFrame, Row, SparkSession

    from penstock.destinations.delta.file_commit_plan import WriteMode
    from penstock.destinations.delta.file_stats import DataFile
    from penstock.destinations.delta.history import Commit
    from penstock.destinations.lake.conflicts import Result
    from penstock.destinations.lake.flat_files import JobFiles
    from penstock.destinations.lake.merge_statement import MergeStatement
    from penstock.interfaces import LoadMark, TableChanges
    from penstock.schema import Table

_LAST_COMMIT: Final = "spark.databricks.delta.lastCommitVersionInSession"
_FILE_SIZE: Final = "spark.databricks.delta.optimizeWrite.binSize"
# Errors of reads, and the checks that raise them: a version is older than the retention although a load has
# just replaced it; the session lacks the catalog that only writes need.
_READ_CHECKS: Final = {
    "TIME_TRAVEL_BEYOND_DELETED_FILE_RETENTION": (
        "spark.databricks.delta.vacuum.enforceTimeTravelWithinDeletedFileRetentionDuration"
    ),
    "CONFIGURE_SPARK_SESSION_WITH_EXTENSION_AND_CATALOG": (
        "spark.databricks.delta.requiredSparkConfsCheck.enabled"
    ),
}
# Tables are read in parallel: a second thread would take the settings of the first for the user's own.
_READ_CHECKS_LOCK: Final = threading.Lock()
# A catalog that is not Delta's has the location of a table, but not its versions.
_NO_TIME_TRAVEL: Final = "UNSUPPORTED_FEATURE.TIME_TRAVEL"
# All rows are replaced, whatever the user's session sets for partitions.
_ALL_PARTITIONS: Final = {"partitionOverwriteMode": "static"}
_SOURCE_VIEW: Final = "penstock_merge_source"
_log = logger("penstock.delta")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaTables(DatasetTables[DeltaAddressing]):
    """The tables of one dataset."""

    file_size: int | None = None
    """The target size of a file in bytes; None leaves it to the number of tasks."""
    commits_by_reference: bool = False
    """Whether files are committed without Spark, to tables by path that are known to take them."""

    @property
    def can_merge_from_itself(self) -> bool:
        """Whether a merge source may read the table: Delta reads it as of the start of the statement."""
        return True

    def read(self, table: str, version: int | None = None, *, spark: SparkSession) -> DataFrame:
        """Return a frame over a table in the given session."""
        try:
            return self.addressing.read(table, version, spark=spark)
        except AnalysisException as error:
            condition = error.getCondition() or ""
            if not any(name in condition for name in (*_READ_CHECKS, _NO_TIME_TRAVEL)):
                raise
            # The read is retried without these checks; a frame keeps the settings of its creation.
            with _READ_CHECKS_LOCK, temporary_conf(spark, dict.fromkeys(_READ_CHECKS.values(), "false")):
                if version is not None and _NO_TIME_TRAVEL in condition:
                    reader = spark.read.format("delta").option("versionAsOf", version)
                    return reader.load(self._location(table, spark))
                return self.addressing.read(table, version, spark=spark)

    def count_deletion(self, table: str, *, spark: SparkSession) -> TableChanges | None:
        """Return what the deletion of all rows would change, by the log; None if Spark has to count them."""
        tables = self._reference_tables(spark)
        return None if isinstance(tables, Obstacle) else count_deletion(tables.store, table)

    def version(self, table: str, *, spark: SparkSession) -> int:
        """Return the number of the newest commit."""
        return self._history(table, spark).version()

    def properties_of(self, table: str, *, spark: SparkSession) -> dict[str, str]:
        """Return the current properties of a table."""
        return dict(self._detail(table, spark)["properties"])

    def commits(self, table: str, most: int | None, *, spark: SparkSession) -> tuple[TableCommit, ...]:
        """Return the commits, newest first, with the loads that made them."""
        return tuple(
            parse_commit(row["version"], row["userMetadata"])
            for row in self._history(table, spark).read_commits(most)
        )

    def clustering_of(self, table: str, *, spark: SparkSession) -> tuple[str, ...]:
        """Return the current clustering columns of a table."""
        return tuple(self._detail(table, spark)["clusteringColumns"] or ())

    def create(self, table: Table, *, spark: SparkSession) -> None:
        """Create an empty table by its hints, if it does not exist."""
        properties = table_properties(table, self.properties)
        with self._gate(table.name):
            spark.sql(create_statement(self.sql_name(table.name), table, properties))

    def commit_job_files(
        self,
        table: Table,
        files: JobFiles | None,
        mark: LoadMark,
        *,
        replaces_rows: bool,
        spark: SparkSession,
    ) -> AppliedJob | None:
        """Append the rows in files of a job, or replace all rows by them; return None if Spark has to.

        Without files all rows are deleted. A commit of the load that the history has is not repeated.
        """
        tables = self._reference_tables(spark)
        if isinstance(tables, Obstacle):
            result: AppliedJob | Obstacle = tables
        elif not self._can_create_by_reference(table, spark):
            result = Obstacle("only Spark applies the hints of a new table")
        else:
            result = commit_job_files(tables.store, table.name, files, mark, replaces_rows=replaces_rows)
        if isinstance(result, AppliedJob):
            return result
        if result.has_transaction:
            commits = self._history(table.name, spark).commits_of_load(mark)
            if commits:
                return self._skipped_job(table.name, commits, mark, spark)
        _log.debug("Spark writes load %s to %s: %s", mark.load_id, table.name, result.reason)
        return None

    def append(self, table: Table, rows: DataFrame, mark: LoadMark, *, spark: SparkSession) -> AppliedJob:
        """Append rows once; create the table by its hints if it does not exist."""
        partitions: tuple[str, ...] = ()
        if not self.exists(table.name, spark=spark):
            partitions = partition_columns(table)
            self._create_for_rows(table, mark, spark=spark)
        return self._write(table.name, rows, "append", mark, spark=spark, partitions=partitions)

    def overwrite(self, table: Table, rows: DataFrame, mark: LoadMark, *, spark: SparkSession) -> AppliedJob:
        """Replace all rows in one commit.

        The table keeps its partitions, properties and grants, and the columns that these rows lack.
        """
        if not self.exists(table.name, spark=spark):
            return self.append(table, rows, mark, spark=spark)
        applied = self._write(table.name, rows, "overwrite", mark, spark=spark)
        self._restore_clustering(table, mark, spark)
        return applied

    def recreate(self, table: Table, rows: DataFrame, mark: LoadMark, *, spark: SparkSession) -> AppliedJob:
        """Replace data and schema in one commit; earlier versions can still be read.

        The history is searched for the mark first: a catalog may replace a table without checking the
        transaction number.
        """
        if not self.exists(table.name, spark=spark):
            return self.append(table, rows, mark, spark=spark)
        properties = table_properties(table, self.properties)
        commits = self._history(table.name, spark).commits_of_load(mark)
        if not commits:
            options = {**transaction_options(mark), **self._file_size_options(), **_ALL_PARTITIONS}
            with temporary_conf(spark, statement_conf(mark) | self._file_size_conf()):
                spark.conf.unset(_LAST_COMMIT)
                partitions = partition_columns(table)
                self.commit(
                    table.name,
                    lambda: self.addressing.recreate(table.name, rows, options, partitions, properties),
                )
        applied = (
            self._skipped_job(table.name, commits, mark, spark)
            if commits
            else self._applied_job(table.name, mark, spark)
        )
        self._restore_properties(table.name, properties, mark, spark)
        self._restore_clustering(table, mark, spark)
        return applied

    def merge(
        self,
        table: Table,
        source: DataFrame,
        statement: MergeStatement,
        mark: LoadMark,
        *,
        spark: SparkSession,
    ) -> AppliedJob:
        """Merge a source into a table; missing columns are added by the same commit."""
        with temporary_conf(spark, statement_conf(mark)):
            spark.conf.unset(_LAST_COMMIT)
            source.createOrReplaceTempView(_SOURCE_VIEW)
            try:
                merge = statement.sql(target=self.sql_name(table.name), source=quote_name(_SOURCE_VIEW))
                self.commit(table.name, lambda: spark.sql(merge))
            finally:
                spark.catalog.dropTempView(_SOURCE_VIEW)
        return self._applied_job(table.name, mark, spark)

    def commit(self, table: str, commit: Callable[[], Result]) -> Result:
        """Run a statement that commits to a table, and retry it on a conflict."""
        with self._gate(table):
            return retry_on_conflict(table, commit)

    def truncate(self, table: str, *, spark: SparkSession) -> None:
        """Delete all rows in one commit."""
        self.commit(table, lambda: spark.sql(f"DELETE FROM {self.sql_name(table)}"))

    def drop(self, table: str, *, spark: SparkSession) -> None:
        """Drop a table with all its rows, if it exists."""
        self.addressing.drop(table, spark=spark)

    def undo(self, applied: AppliedJob, load_id: str, *, spark: SparkSession) -> None:
        """Restore the version before a job by one commit; raise if the table changed since.

        A table that the job created is left without rows: Delta has no version before the first.
        """
        history = self._history(applied.table, spark)
        if applied.version_after is None or history.is_undone(applied, load_id):
            return
        with temporary_conf(spark, {USER_METADATA: undo_metadata(applied, load_id)}):
            if applied.version_before is None:
                self.truncate(applied.table, spark=spark)
            else:
                self._restore_by_spark(applied.table, applied.version_before, spark)

    def to_undo(self, table: str, mark: LoadMark, *, spark: SparkSession) -> AppliedJob | None:
        """Return the commit of a load that is still in effect; None if there is none."""
        if not self.exists(table, spark=spark):
            return None
        history = self._history(table, spark)
        commits = history.commits_of_load(mark)
        if commits:
            applied = applied_job(table, commits)
            return None if history.is_undone(applied, mark.load_id) else applied
        if not history.reaches_back_to(mark):
            raise DestinationTerminalException(
                f"{table} cannot be rolled back: its history does not reach back to load {mark.load_id}",
                hint="delete the rows of the load by their _dlt_load_id, and then the folder of its package",
            )
        return None

    def verify(self, applied: AppliedJob, mark: LoadMark, *, spark: SparkSession) -> None:
        """Raise `CommitRolledBack` unless the commit of a job is in effect.

        If the history does not reach back to the load, the result of the job is accepted as evidence.
        """
        table, history = applied.table, self._history(applied.table, spark)
        if not self.exists(table, spark=spark) or (
            not history.commits_of_load(mark) and history.reaches_back_to(mark)
        ):
            raise CommitRolledBack(table=table, load_id=mark.load_id, version=applied.version_after)
        history.check_in_effect(applied, mark.load_id)

    def plan_restore(
        self, table: str, version: int | None, own_loads: Container[str], *, spark: SparkSession
    ) -> TableRestore:
        """Return what the restore of a version would do; None as a version is the time before the table."""
        if not self.exists(table, spark=spark):
            return missing_table(table, version)
        return self._restorer(table, spark).plan(version, own_loads)

    def restore(
        self, planned: TableRestore, mark: LoadMark, *, overwrites: bool, spark: SparkSession
    ) -> AppliedJob:
        """Restore a version by one commit with the mark of the load; without Spark where that is safe."""
        return self._restorer(planned.table, spark).restore(planned, mark, overwrites=overwrites)

    def _restorer(self, table: str, spark: SparkSession) -> TableRestorer:
        def restore(version: int, mark: LoadMark) -> None:
            with temporary_conf(spark, {USER_METADATA: load_metadata(mark)}):
                self._restore_by_spark(table, version, spark)

        return TableRestorer(
            history=self._history(table, spark),
            tables=self._reference_tables(spark),
            open_version=lambda version: self.read(table, version, spark=spark),
            restore_by_spark=restore,
            skipped_job=lambda commits, mark: self._skipped_job(table, commits, mark, spark),
        )

    def _restore_by_spark(self, table: str, version: int, spark: SparkSession) -> None:
        with self._gate(table):
            spark.sql(f"RESTORE TABLE {self.sql_name(table)} TO VERSION AS OF {version:d}")

    def is_overwritten(self, applied: AppliedJob, mark: LoadMark) -> bool:
        """Return whether a version has the commit of another writer, which Spark wrote over that of a job."""
        if not self.commits_by_reference or not isinstance(self.addressing, PathTables):
            return False
        if applied.version_after is None or applied.skipped:
            return False
        commit = read_commit(self.addressing.store, applied.table, applied.version_after)
        return commit is not None and commit["userMetadata"] != load_metadata(mark)

    def fence(self, table: str, mark: LoadMark, *, spark: SparkSession) -> None:
        """Use up the transaction number of an aborted load: Delta skips a late commit of it, or this one."""
        if not self.exists(table, spark=spark):
            return
        no_rows = spark.createDataFrame([], self.read(table, spark=spark).schema)
        options = {**transaction_options(mark), "userMetadata": fence_metadata(mark.load_id)}
        self.commit(table, lambda: self.addressing.write(table, no_rows, "append", options, ()))

    def _create_for_rows(self, table: Table, mark: LoadMark, *, spark: SparkSession) -> None:
        """Create an empty table, if the first write cannot create it or cannot set its properties.

        The commit names the load: a reader sees the table once that is complete. It is not marked as the
        commit of the rows, which may fail and be retried.
        """
        has_properties = bool(table_properties(table, self.properties))
        if self.addressing.requires_create_table or has_properties or cluster_columns(table):
            with temporary_conf(spark, {USER_METADATA: create_table_metadata(mark)}):
                self.create(table, spark=spark)

    def _can_create_by_reference(self, table: Table, spark: SparkSession) -> bool:
        """Return whether a table exists, or needs no hints that only Spark applies."""
        hints = (table_properties(table, self.properties), partition_columns(table), cluster_columns(table))
        return not any(hints) or self.exists(table.name, spark=spark)

    def _restore_clustering(self, table: Table, mark: LoadMark, spark: SparkSession) -> None:
        """Set the clustering columns again, which Delta removes when all rows are overwritten."""
        columns = cluster_columns(table)
        if columns and self.clustering_of(table.name, spark=spark) != columns:
            conf = {USER_METADATA: maintenance_metadata(mark.load_id)}
            with temporary_conf(spark, conf), self._gate(table.name):
                spark.sql(cluster_statement(self.sql_name(table.name), columns))

    def _restore_properties(
        self, table: str, wanted: Mapping[str, str], mark: LoadMark, spark: SparkSession
    ) -> None:
        """Set changed properties, which a recreated table by path keeps."""
        changed = changed_properties(self.properties_of(table, spark=spark), wanted) if wanted else {}
        if changed:
            conf = {USER_METADATA: maintenance_metadata(mark.load_id)}
            with temporary_conf(spark, conf), self._gate(table):
                spark.sql(set_properties_statement(self.sql_name(table), changed))

    def _file_size_conf(self) -> dict[str, str]:
        return {} if self.file_size is None else {_FILE_SIZE: str(max(self.file_size >> 20, 1))}

    def _file_size_options(self) -> dict[str, str]:
        return {"optimizeWrite": "true"} if self.file_size is not None else {}

    def _write(
        self,
        table: str,
        rows: DataFrame,
        mode: WriteMode,
        mark: LoadMark,
        *,
        spark: SparkSession,
        partitions: tuple[str, ...] = (),
    ) -> AppliedJob:
        if not partitions:
            applied = self._commit_files(table, rows, mode, mark, spark)
            if isinstance(applied, AppliedJob):
                return applied
            _log.debug("Spark commits load %s to %s: %s", mark.load_id, table, applied.reason)
        options = {"mergeSchema": "true", **transaction_options(mark), **self._file_size_options()}
        options |= _ALL_PARTITIONS if mode == "overwrite" else {}
        with temporary_conf(spark, self._file_size_conf()):
            spark.conf.unset(_LAST_COMMIT)
            self.commit(table, lambda: self.addressing.write(table, rows, mode, options, partitions))
        return self._applied_job(table, mark, spark)

    def _gate(self, table: str) -> AbstractContextManager[None]:
        """Announce a statement of Spark that may commit to a table."""
        if not isinstance(self.addressing, PathTables):
            return nullcontext()
        return COMMIT_GATE.statement(self.addressing.store.path(table))

    def _reference_tables(self, spark: SparkSession) -> PathTables | Obstacle:
        """Return the tables that take commits by reference; an obstacle if Spark has to commit."""
        if not self.commits_by_reference or not isinstance(self.addressing, PathTables):
            return Obstacle("it is disabled, or tables are addressed by a catalog")
        if self.file_size is not None:
            return Obstacle("files have a target size")
        outlook = session_outlook(spark)
        if outlook.is_connect:
            # Other clients of the server write to the same table, and its commits are ordered there.
            return Obstacle("the session is a client of Spark Connect")
        if name := session_obstacle(outlook.conf):
            return Obstacle(f"the session has the setting {name}")
        return self.addressing

    def _commit_files(
        self, table: str, rows: DataFrame, mode: WriteMode, mark: LoadMark, spark: SparkSession
    ) -> AppliedJob | Obstacle:
        """Write rows as files and commit them by reference; an obstacle if Spark has to commit them."""
        addressing = self._reference_tables(spark)
        if isinstance(addressing, Obstacle):
            return addressing
        if not addressing.store.is_local:
            # Without a rename Spark would copy each file twice.
            return Obstacle("the storage has no rename")
        store, schema_json = addressing.store, rows.schema.json()

        def write_files() -> Sequence[DataFile]:
            folder = f"{mark.load_id}-{uuid.uuid4().hex[:12]}"
            addressing.write_files(table, rows, folder)
            return read_data_files(store, table, folder, schema_json=schema_json)

        return commit_files(store, table, write_files, schema_json=schema_json, mark=mark, mode=mode)

    def _applied_job(self, table: str, mark: LoadMark, spark: SparkSession) -> AppliedJob:
        """Return the result of the last write, read from the history.

        Delta skips a write whose transaction number it has: then the session has no version.
        """
        is_new = spark.conf.get(_LAST_COMMIT, None) is not None
        commits = self._history(table, spark).commits_of_load(mark)
        if not is_new:
            return self._skipped_job(table, commits, mark, spark)
        if not commits:
            raise CommitLost(table=table, sequence=mark.sequence)
        return applied_job(table, commits)

    def _skipped_job(
        self, table: str, commits: Sequence[Commit], mark: LoadMark, spark: SparkSession
    ) -> AppliedJob:
        """Return the result of an earlier attempt of a load; raise unless it is in effect.

        If the history does not reach back to the load, its rows are accepted as evidence.
        """
        history = self._history(table, spark)
        if commits:
            applied = replace(applied_job(table, commits), skipped=True)
            history.check_in_effect(applied, mark.load_id)
            return applied
        if history.reaches_back_to(mark) or not has_rows_of(self.read(table, spark=spark), mark.load_id):
            raise DestinationAhead(table=table, sequence=mark.sequence)
        return AppliedJob(table=table, skipped=True)

    def _detail(self, table: str, spark: SparkSession) -> Row:
        return spark.sql(f"DESCRIBE DETAIL {self.sql_name(table)}").collect()[0]

    def _location(self, table: str, spark: SparkSession) -> str:
        details = spark.sql(f"DESCRIBE TABLE EXTENDED {self.sql_name(table)}").where("col_name = 'Location'")
        return str(details.select("data_type").collect()[0][0])

    def _history(self, table: str, spark: SparkSession) -> TableHistory:
        def commits(limit: int | None) -> list[Commit]:
            if isinstance(self.addressing, PathTables):
                commits = read_commits(self.addressing.store, table, limit)
                if commits is not None:
                    return [*commits]
            clause = "" if limit is None else f" LIMIT {limit}"
            # The statement runs at once: a projection would run another job.
            return [*spark.sql(f"DESCRIBE HISTORY {self.sql_name(table)}{clause}").collect()]

        return TableHistory(table=table, read_commits=commits)
