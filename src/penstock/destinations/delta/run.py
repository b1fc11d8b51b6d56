"""Commits to Delta tables: each is atomic, marked with its load, and made once."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from pyspark.errors import AnalysisException
from pyspark.sql import functions as F

from penstock.destinations.delta.addressing import DeltaAddressing
from penstock.destinations.delta.conflicts import retry_on_conflict
from penstock.destinations.delta.ddl import (
    cluster_columns,
    cluster_statement,
    create_statement,
    partition_columns,
    table_properties,
)
from penstock.destinations.delta.history import (
    TableHistory,
    app_id,
    applied_job,
    create_table_metadata,
    fence_metadata,
    load_metadata,
    maintenance_metadata,
    parse_commit,
    undo_metadata,
)
from penstock.destinations.lake.addressing import DatasetTables
from penstock.destinations.lake.ddl import set_properties_statement
from penstock.errors import CommitLost, CommitRolledBack, DestinationAhead, DestinationTerminalException
from penstock.interfaces import AppliedJob, TableCommit
from penstock.package.sql import quote_name
from penstock.schema.defaults import LOAD_ID_COLUMN
from penstock.spark.conf import temporary_conf

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, Row, SparkSession

    from penstock.destinations.delta.addressing import WriteMode
    from penstock.destinations.lake.merge_statement import MergeStatement
    from penstock.interfaces import LoadMark
    from penstock.schema import Table

_LAST_COMMIT: Final = "spark.databricks.delta.lastCommitVersionInSession"
USER_METADATA: Final = "spark.databricks.delta.commitInfo.userMetadata"
_FILE_SIZE: Final = "spark.databricks.delta.optimizeWrite.binSize"
# Rules by which Delta refuses to read, and the words for it: a version is old though a load has just left
# it behind; a session that nothing is written in lacks the catalog that writing needs.
_READ_CHECKS: Final = {
    "TIME_TRAVEL_BEYOND_DELETED_FILE_RETENTION": (
        "spark.databricks.delta.vacuum.enforceTimeTravelWithinDeletedFileRetentionDuration"
    ),
    "CONFIGURE_SPARK_SESSION_WITH_EXTENSION_AND_CATALOG": (
        "spark.databricks.delta.requiredSparkConfsCheck.enabled"
    ),
}
# Tables are read side by side: who came second would take what the first one set for the user's own.
_READ_CHECKS_LOCK: Final = threading.Lock()
# A catalog that is not Delta's knows where a table is, and nothing of its versions.
_NO_TIME_TRAVEL: Final = "UNSUPPORTED_FEATURE.TIME_TRAVEL"
_WRITE_CONF_PREFIX: Final = "spark.databricks.delta.write."
# All rows go, whatever the session of the user says of partitions.
_ALL_PARTITIONS: Final = {"partitionOverwriteMode": "static"}
_SOURCE_VIEW: Final = "penstock_merge_source"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaTables(DatasetTables[DeltaAddressing]):
    """The tables of one dataset."""

    file_size: int | None = None
    """Bytes that files should have; None leaves it to the number of tasks."""

    @property
    def can_merge_from_itself(self) -> bool:
        """Delta reads a source as it was when the statement began."""
        return True

    def read(self, table: str, version: int | None = None, *, spark: SparkSession) -> DataFrame:
        """A frame over a table in the given session."""
        try:
            return self.addressing.read(table, version, spark=spark)
        except AnalysisException as error:
            told = error.getCondition() or ""
            if not any(rule in told for rule in (*_READ_CHECKS, _NO_TIME_TRAVEL)):
                raise
            # The question is asked once more without these rules; a frame keeps what it was told.
            with _checks_disabled(spark, *_READ_CHECKS.values()):
                if version is not None and _NO_TIME_TRAVEL in told:
                    reader = spark.read.format("delta").option("versionAsOf", version)
                    return reader.load(self._location(table, spark))
                return self.addressing.read(table, version, spark=spark)

    def version(self, table: str, *, spark: SparkSession) -> int:
        """The number of the newest commit."""
        return self._history(table, spark).version()

    def properties_of(self, table: str, *, spark: SparkSession) -> dict[str, str]:
        """The properties that a table has."""
        return dict(self._detail(table, spark)["properties"])

    def commits(self, table: str, most: int | None, *, spark: SparkSession) -> tuple[TableCommit, ...]:
        """The commits, newest first, and the loads that made them."""
        return tuple(
            parse_commit(row["version"], row["userMetadata"])
            for row in self._history(table, spark).read_commits(most)
        )

    def append(self, table: Table, rows: DataFrame, mark: LoadMark, *, spark: SparkSession) -> AppliedJob:
        """Append once; a table that is not there is made as its hints say."""
        partitions: tuple[str, ...] = ()
        if not self.exists(table.name, spark=spark):
            partitions = partition_columns(table)
            self._create(table, mark, spark=spark)
        return self._write(table.name, rows, "append", mark, spark=spark, partitions=partitions)

    def overwrite(self, table: Table, rows: DataFrame, mark: LoadMark, *, spark: SparkSession) -> AppliedJob:
        """Replace all rows in one commit.

        The table stays, with its partitions, properties and grants, and with columns that these rows lack.
        """
        if not self.exists(table.name, spark=spark):
            return self.append(table, rows, mark, spark=spark)
        applied = self._write(table.name, rows, "overwrite", mark, spark=spark)
        self._restore_clustering(table, mark, spark)
        return applied

    def recreate(self, table: Table, rows: DataFrame, mark: LoadMark, *, spark: SparkSession) -> AppliedJob:
        """Put these rows and their columns in the place of all that is there, in one commit.

        Readers of earlier versions see what was there. The mark is looked for before: where a catalog
        replaces a table, nobody promises that a transaction is made once.
        """
        if not self.exists(table.name, spark=spark):
            return self.append(table, rows, mark, spark=spark)
        properties = table_properties(table, self.properties)
        seen = self._history(table.name, spark).commits_of_load(mark)
        if not seen:
            options = {**_transaction_options(mark), **self._file_size_options(), **_ALL_PARTITIONS}
            with _mark_commits(spark, mark), temporary_conf(spark, self._file_size_conf()):
                spark.conf.unset(_LAST_COMMIT)
                retry_on_conflict(
                    table.name,
                    lambda: self.addressing.recreate(
                        table.name, rows, options, partition_columns(table), properties
                    ),
                )
        applied = (
            self._skipped_job(table.name, seen, mark, spark)
            if seen
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
        """Merge a source into a table, in one commit with the columns that it lacks."""
        with _mark_commits(spark, mark):
            spark.conf.unset(_LAST_COMMIT)
            source.createOrReplaceTempView(_SOURCE_VIEW)
            try:
                text = statement.sql(target=self.sql_name(table.name), source=quote_name(_SOURCE_VIEW))
                retry_on_conflict(table.name, lambda: spark.sql(text))
            finally:
                spark.catalog.dropTempView(_SOURCE_VIEW)
        return self._applied_job(table.name, mark, spark)

    def truncate(self, table: str, *, spark: SparkSession) -> None:
        """Delete all rows in one commit."""
        spark.sql(f"DELETE FROM {self.sql_name(table)}")

    def drop(self, table: str, *, spark: SparkSession) -> None:
        """Take a table away with all its rows, if it is there."""
        self.addressing.drop(table, spark=spark)

    def undo(self, applied: AppliedJob, load_id: str, *, spark: SparkSession) -> None:
        """Bring a table back to the version before a job by one commit, unless it has moved on since.

        A table that the job had made is left without rows: Delta has no version before the first.
        """
        history = self._history(applied.table, spark)
        if applied.version_after is None or history.is_undone(applied, load_id):
            return
        name = self.sql_name(applied.table)
        with temporary_conf(spark, {USER_METADATA: undo_metadata(applied, load_id)}):
            if applied.version_before is None:
                self.truncate(applied.table, spark=spark)
            else:
                spark.sql(f"RESTORE TABLE {name} TO VERSION AS OF {applied.version_before}")

    def to_undo(self, table: str, mark: LoadMark, *, spark: SparkSession) -> AppliedJob | None:
        """What a load did to a table; None where it did nothing, or nothing of it is left."""
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
        """Raise unless a table still shows what a job of a load wrote.

        Where the history does not reach back to the load, the result of the job is the evidence.
        """
        table, history = applied.table, self._history(applied.table, spark)
        if not self.exists(table, spark=spark) or (
            not history.commits_of_load(mark) and history.reaches_back_to(mark)
        ):
            raise CommitRolledBack(table=table, load_id=mark.load_id, version=applied.version_after)
        history.check_in_effect(applied, mark.load_id)

    def fence(self, table: str, mark: LoadMark, *, spark: SparkSession) -> None:
        """Use up the transaction number of an aborted load, so that Delta skips a late commit of it.

        Delta skips this commit too where the load has one. A table that does not exist cannot be fenced.
        """
        if not self.exists(table, spark=spark):
            return
        nothing = spark.createDataFrame([], self.read(table, spark=spark).schema)
        options = {**_transaction_options(mark), "userMetadata": fence_metadata(mark.load_id)}
        retry_on_conflict(table, lambda: self.addressing.write(table, nothing, "append", options, ()))

    def _has_rows(self, table: str, mark: LoadMark, spark: SparkSession) -> bool:
        """Whether a table has rows of a load; only the commit of that load brings them."""
        rows = self.read(table, spark=spark)
        return LOAD_ID_COLUMN in rows.columns and bool(
            rows.where(F.col(LOAD_ID_COLUMN) == mark.load_id).select(LOAD_ID_COLUMN).take(1)
        )

    def _create(self, table: Table, mark: LoadMark, *, spark: SparkSession) -> None:
        """Make a table without rows, where the first rows cannot make it or could not say what it is like.

        The commit names the load: a reader sees the table once that is complete. It is not marked as the
        commit of the rows, which may fail and be tried again.
        """
        properties = table_properties(table, self.properties)
        if self.addressing.requires_create_table or properties or cluster_columns(table):
            with temporary_conf(spark, {USER_METADATA: create_table_metadata(mark)}):
                spark.sql(create_statement(self.sql_name(table.name), table, properties))

    def _restore_clustering(self, table: Table, mark: LoadMark, spark: SparkSession) -> None:
        """Delta forgets by which columns rows stand together when all of them are overwritten."""
        columns = cluster_columns(table)
        if columns and tuple(self._detail(table.name, spark)["clusteringColumns"]) != columns:
            with temporary_conf(spark, {USER_METADATA: maintenance_metadata(mark.load_id)}):
                spark.sql(cluster_statement(self.sql_name(table.name), columns))

    def _restore_properties(
        self, table: str, wanted: Mapping[str, str], mark: LoadMark, spark: SparkSession
    ) -> None:
        """A folder has the properties that it had: those that differ are set."""
        has = self.properties_of(table, spark=spark) if wanted else {}
        differing = {key: value for key, value in wanted.items() if has.get(key) != value}
        if differing:
            with temporary_conf(spark, {USER_METADATA: maintenance_metadata(mark.load_id)}):
                spark.sql(set_properties_statement(self.sql_name(table), differing))

    def _file_size_conf(self) -> dict[str, str]:
        """What a session is told for files of a certain size."""
        return {} if self.file_size is None else {_FILE_SIZE: str(max(self.file_size >> 20, 1))}

    def _file_size_options(self) -> dict[str, str]:
        """What a writer is told for it."""
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
        options = {"mergeSchema": "true", **_transaction_options(mark), **self._file_size_options()}
        if mode == "overwrite":
            options |= _ALL_PARTITIONS
        with temporary_conf(spark, self._file_size_conf()):
            spark.conf.unset(_LAST_COMMIT)
            retry_on_conflict(table, lambda: self.addressing.write(table, rows, mode, options, partitions))
        return self._applied_job(table, mark, spark)

    def _applied_job(self, table: str, mark: LoadMark, spark: SparkSession) -> AppliedJob:
        """What the last write came to; nothing counts as written until the history shows it.

        Delta skips a write whose transaction it has: then the session has no version.
        """
        is_new = spark.conf.get(_LAST_COMMIT, None) is not None
        commits = self._history(table, spark).commits_of_load(mark)
        if not is_new:
            return self._skipped_job(table, commits, mark, spark)
        if not commits:
            raise CommitLost(table=table, sequence=mark.sequence)
        return applied_job(table, commits)

    def _skipped_job(
        self, table: str, commits: Sequence[Row], mark: LoadMark, spark: SparkSession
    ) -> AppliedJob:
        """What an earlier attempt of a load came to, if that is what the table shows.

        Where the history does not reach back to the load, rows of it are the evidence.
        """
        history = self._history(table, spark)
        if commits:
            applied = replace(applied_job(table, commits), skipped=True)
            history.check_in_effect(applied, mark.load_id)
            return applied
        if history.reaches_back_to(mark) or not self._has_rows(table, mark, spark):
            raise DestinationAhead(table=table, sequence=mark.sequence)
        return AppliedJob(table=table, skipped=True)

    def _detail(self, table: str, spark: SparkSession) -> Row:
        return spark.sql(f"DESCRIBE DETAIL {self.sql_name(table)}").collect()[0]

    def _location(self, table: str, spark: SparkSession) -> str:
        told = spark.sql(f"DESCRIBE TABLE EXTENDED {self.sql_name(table)}").where("col_name = 'Location'")
        return str(told.select("data_type").collect()[0][0])

    def _history(self, table: str, spark: SparkSession) -> TableHistory:
        def commits(limit: int | None) -> list[Row]:
            most = "" if limit is None else f" LIMIT {limit}"
            # The statement runs at once: to ask for some of its columns would take a job of its own.
            return spark.sql(f"DESCRIBE HISTORY {self.sql_name(table)}{most}").collect()

        return TableHistory(table=table, read_commits=commits)


def _transaction_options(mark: LoadMark) -> dict[str, str]:
    """What a writer is told of the load that it writes for."""
    return {
        "txnAppId": app_id(mark),
        "txnVersion": str(mark.sequence),
        "userMetadata": load_metadata(mark),
    }


@contextmanager
def _mark_commits(spark: SparkSession, mark: LoadMark) -> Iterator[None]:
    """Statements have no options: in the block the session itself says whose commit it is."""
    said = {
        f"{_WRITE_CONF_PREFIX}txnAppId": app_id(mark),
        f"{_WRITE_CONF_PREFIX}txnVersion": str(mark.sequence),
        USER_METADATA: load_metadata(mark),
    }
    with temporary_conf(spark, said):
        yield


@contextmanager
def _checks_disabled(spark: SparkSession, *checks: str) -> Iterator[None]:
    """Rules are off in the block, and afterwards as they were: the session may be the user's."""
    with _READ_CHECKS_LOCK:
        before = {rule: spark.conf.get(rule, None) for rule in checks}
        for rule in checks:
            spark.conf.set(rule, "false")
        try:
            yield
        finally:
            for rule, said in before.items():
                if said is None:
                    spark.conf.unset(rule)
                else:
                    spark.conf.set(rule, said)
