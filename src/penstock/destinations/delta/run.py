"""Commits to Delta tables: each is atomic, marked with its load, and made once."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from pyspark.errors import AnalysisException

from penstock.destinations.delta.conflicts import persistent
from penstock.destinations.delta.define import (
    cluster_columns,
    cluster_statement,
    create_statement,
    partition_columns,
    table_properties,
)
from penstock.destinations.delta.marks import app_id, is_back, kept, metadata, rows_of, told, undone
from penstock.destinations.delta.place import Place
from penstock.destinations.lake.define import property_statement
from penstock.destinations.lake.placed import PlacedTables
from penstock.errors import CommitLost, DestinationAhead, DestinationTerminalException
from penstock.interfaces import AppliedJob, TableCommit
from penstock.package.sql import quoted
from penstock.spark.conf import conf_set

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, Row, SparkSession

    from penstock.destinations.delta.place import Mode
    from penstock.destinations.lake.statement import Merge
    from penstock.interfaces import LoadMark
    from penstock.schema import Table

_LAST_COMMIT: Final = "spark.databricks.delta.lastCommitVersionInSession"
METADATA: Final = "spark.databricks.delta.commitInfo.userMetadata"
_FILE_SIZE: Final = "spark.databricks.delta.optimizeWrite.binSize"
# Rules by which Delta refuses to read, and the words for it: a version is old though a load has just left
# it behind; a session that nothing is written in lacks the catalog that writing needs.
_RULES: Final = {
    "TIME_TRAVEL_BEYOND_DELETED_FILE_RETENTION": (
        "spark.databricks.delta.vacuum.enforceTimeTravelWithinDeletedFileRetentionDuration"
    ),
    "CONFIGURE_SPARK_SESSION_WITH_EXTENSION_AND_CATALOG": (
        "spark.databricks.delta.requiredSparkConfsCheck.enabled"
    ),
}
# Tables are read side by side: who came second would take what the first one set for the user's own.
_RULES_ARE_OFF: Final = threading.Lock()
# A catalog that is not Delta's knows where a table is, and nothing of its versions.
_VERSIONLESS: Final = "UNSUPPORTED_FEATURE.TIME_TRAVEL"
_TXN: Final = "spark.databricks.delta.write."
# All rows go, whatever the session of the user says of partitions.
_ALL_PARTITIONS: Final = {"partitionOverwriteMode": "static"}
_SOURCE: Final = "penstock_merge_source"
_MADE: Final = frozenset(("CREATE TABLE", "CREATE OR REPLACE TABLE"))
# A commit that was just made is nearly always the newest; the one before it is looked at with it.
_NEWEST: Final = 2
# How far back a commit is looked for first; tables that many write to may need a longer look.
_HISTORY: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaTables(PlacedTables[Place]):
    """The tables of one dataset."""

    file_size: int | None = None
    """Bytes that files should have; None leaves it to the number of tasks."""

    @property
    def merges_from_itself(self) -> bool:
        """Delta reads a source as it was when the statement began."""
        return True

    def read(self, table: str, version: int | None = None, *, spark: SparkSession) -> DataFrame:
        """A frame over a table in the given session."""
        try:
            return self.place.read(table, version, spark=spark)
        except AnalysisException as error:
            told = error.getCondition() or ""
            if not any(rule in told for rule in (*_RULES, _VERSIONLESS)):
                raise
            # The question is asked once more without these rules; a frame keeps what it was told.
            with _without(spark, *_RULES.values()):
                if version is not None and _VERSIONLESS in told:
                    reader = spark.read.format("delta").option("versionAsOf", version)
                    return reader.load(self._address(table, spark))
                return self.place.read(table, version, spark=spark)

    def version(self, table: str, *, spark: SparkSession) -> int:
        """The number of the newest commit."""
        return int(self._history(table, 1, spark)[0]["version"])

    def properties_of(self, table: str, *, spark: SparkSession) -> dict[str, str]:
        """The properties that a table has."""
        return dict(self._detail(table, spark)["properties"])

    def commits(self, table: str, most: int | None, *, spark: SparkSession) -> tuple[TableCommit, ...]:
        """The commits, newest first, and the loads that made them."""
        return tuple(told(row["version"], row["userMetadata"]) for row in self._history(table, most, spark))

    def append(self, table: Table, rows: DataFrame, mark: LoadMark, *, spark: SparkSession) -> AppliedJob:
        """Append once; a table that is not there is made as its hints say."""
        partitions: tuple[str, ...] = ()
        if not self.exists(table.name, spark=spark):
            partitions = partition_columns(table)
            self._make(table, mark, spark=spark)
        return self._write(table.name, rows, "append", mark, spark=spark, partitions=partitions)

    def overwrite(self, table: Table, rows: DataFrame, mark: LoadMark, *, spark: SparkSession) -> AppliedJob:
        """Replace all rows in one commit.

        The table stays, with its partitions, properties and grants, and with columns that these rows lack.
        """
        if not self.exists(table.name, spark=spark):
            return self.append(table, rows, mark, spark=spark)
        applied = self._write(table.name, rows, "overwrite", mark, spark=spark)
        self._keep_clusters(table, mark, spark)
        return applied

    def renew(self, table: Table, rows: DataFrame, mark: LoadMark, *, spark: SparkSession) -> AppliedJob:
        """Put these rows and their columns in the place of all that is there, in one commit.

        Readers of earlier versions see what was there. The mark is looked for before: where a catalog
        replaces a table, nobody promises that a transaction is made once.
        """
        if not self.exists(table.name, spark=spark):
            return self.append(table, rows, mark, spark=spark)
        properties = table_properties(table, self.properties)
        seen = self._seen(table.name, mark, spark)
        if not seen:
            options = {**_signed(mark), **self._sizing(), **_ALL_PARTITIONS}
            with _marked(spark, mark), conf_set(spark, self._sized()):
                spark.conf.unset(_LAST_COMMIT)
                persistent(
                    table.name,
                    lambda: self.place.renew(table.name, rows, options, partition_columns(table), properties),
                )
        applied = (
            replace(_job(table.name, seen), skipped=True) if seen else self._applied(table.name, mark, spark)
        )
        self._keep_properties(table.name, properties, mark, spark)
        self._keep_clusters(table, mark, spark)
        return applied

    def merge(
        self, table: Table, source: DataFrame, merge: Merge, mark: LoadMark, *, spark: SparkSession
    ) -> AppliedJob:
        """Merge a source into a table, in one commit with the columns that it lacks."""
        with _marked(spark, mark):
            spark.conf.unset(_LAST_COMMIT)
            source.createOrReplaceTempView(_SOURCE)
            try:
                text = merge.text(target=self.sql_name(table.name), source=quoted(_SOURCE))
                persistent(table.name, lambda: spark.sql(text))
            finally:
                spark.catalog.dropTempView(_SOURCE)
        return self._applied(table.name, mark, spark)

    def empty(self, table: str, *, spark: SparkSession) -> None:
        """Delete all rows in one commit."""
        spark.sql(f"DELETE FROM {self.sql_name(table)}")

    def drop(self, table: str, *, spark: SparkSession) -> None:
        """Take a table away with all its rows, if it is there."""
        self.place.drop(table, spark=spark)

    def undo(self, applied: AppliedJob, load_id: str, *, spark: SparkSession) -> None:
        """Bring a table back to the version before a job by one commit, unless it has moved on since.

        A table that the job had made is left without rows: Delta has no version before the first.
        """
        if applied.version_after is None or self._is_undone(applied, load_id, spark):
            return
        name = self.sql_name(applied.table)
        with conf_set(spark, {METADATA: undone(applied, load_id)}):
            if applied.version_before is None:
                self.empty(applied.table, spark=spark)
            else:
                spark.sql(f"RESTORE TABLE {name} TO VERSION AS OF {applied.version_before}")

    def to_undo(self, table: str, mark: LoadMark, *, spark: SparkSession) -> AppliedJob | None:
        """What a load did to a table; None where it did nothing, or nothing of it is left."""
        commits = self._seen(table, mark, spark) if self.exists(table, spark=spark) else []
        if not commits:
            return None
        found = _job(table, commits)
        return None if self._is_undone(found, mark.load_id, spark) else found

    def _is_undone(self, applied: AppliedJob, load_id: str, spark: SparkSession) -> bool:
        """Whether a table was brought back, by us or by hand. One that was changed otherwise is an error."""
        after = applied.version_after or 0
        newest = self.version(applied.table, spark=spark)
        found = self._history(applied.table, newest - after, spark) if newest > after else []
        since = [one for one in found if one["userMetadata"] != kept(load_id)]
        if any(is_back(commit, applied, load_id) for commit in since):
            return True
        if since:
            raise DestinationTerminalException(
                f"{applied.table} was changed after version {after} and cannot be taken back",
                hint=f"bring it back by hand to what it was before load {load_id}, with RESTORE TABLE",
            )
        return False

    def _make(self, table: Table, mark: LoadMark, *, spark: SparkSession) -> None:
        """Make a table without rows, where the first rows cannot make it or could not say what it is like.

        The commit names the load: a reader sees the table once that is complete.
        """
        properties = table_properties(table, self.properties)
        if self.place.makes_tables_by_statement or properties or cluster_columns(table):
            with conf_set(spark, {METADATA: metadata(mark)}):
                spark.sql(create_statement(self.sql_name(table.name), table, properties))

    def _keep_clusters(self, table: Table, mark: LoadMark, spark: SparkSession) -> None:
        """Delta forgets by which columns rows stand together when all of them are overwritten."""
        columns = cluster_columns(table)
        if columns and tuple(self._detail(table.name, spark)["clusteringColumns"]) != columns:
            with conf_set(spark, {METADATA: kept(mark.load_id)}):
                spark.sql(cluster_statement(self.sql_name(table.name), columns))

    def _keep_properties(
        self, table: str, wanted: Mapping[str, str], mark: LoadMark, spark: SparkSession
    ) -> None:
        """A folder has the properties that it had: those that differ are set."""
        has = self.properties_of(table, spark=spark) if wanted else {}
        differing = {key: value for key, value in wanted.items() if has.get(key) != value}
        if differing:
            with conf_set(spark, {METADATA: kept(mark.load_id)}):
                spark.sql(property_statement(self.sql_name(table), differing))

    def _sized(self) -> dict[str, str]:
        """What a session is told for files of a certain size."""
        return {} if self.file_size is None else {_FILE_SIZE: str(max(self.file_size >> 20, 1))}

    def _sizing(self) -> dict[str, str]:
        """What a writer is told for it."""
        return {"optimizeWrite": "true"} if self.file_size is not None else {}

    def _write(
        self,
        table: str,
        rows: DataFrame,
        mode: Mode,
        mark: LoadMark,
        *,
        spark: SparkSession,
        partitions: tuple[str, ...] = (),
    ) -> AppliedJob:
        options = {"mergeSchema": "true", **_signed(mark), **self._sizing()}
        if mode == "overwrite":
            options |= _ALL_PARTITIONS
        with conf_set(spark, self._sized()):
            spark.conf.unset(_LAST_COMMIT)
            persistent(table, lambda: self.place.write(table, rows, mode, options, partitions))
        return self._applied(table, mark, spark)

    def _applied(self, table: str, mark: LoadMark, spark: SparkSession) -> AppliedJob:
        """What the last write came to. Delta skips one whose transaction it has: the session tells."""
        version = spark.conf.get(_LAST_COMMIT, None)
        commits = self._commits(table, mark, is_new=version is not None, spark=spark)
        return replace(_job(table, commits), skipped=version is None)

    def _commits(self, table: str, mark: LoadMark, *, is_new: bool, spark: SparkSession) -> list[Row]:
        """The commit of this load in the table's history, and those before it that were looked at.

        Nothing counts as written until it is seen there.
        """
        found = self._seen(table, mark, spark)
        if found:
            return found
        if is_new:
            raise CommitLost(table=table, sequence=mark.sequence)
        raise DestinationAhead(table=table, sequence=mark.sequence)

    def _detail(self, table: str, spark: SparkSession) -> Row:
        return spark.sql(f"DESCRIBE DETAIL {self.sql_name(table)}").collect()[0]

    def _address(self, table: str, spark: SparkSession) -> str:
        told = spark.sql(f"DESCRIBE TABLE EXTENDED {self.sql_name(table)}").where("col_name = 'Location'")
        return str(told.select("data_type").collect()[0][0])

    def _seen(self, table: str, mark: LoadMark, spark: SparkSession) -> list[Row]:
        for limit in (_NEWEST, _HISTORY, None):
            found = self._history(table, limit, spark)
            for place, commit in enumerate(found):
                # The one before it must be among them, unless it is the first of all.
                is_last = place + 1 == len(found) and commit["version"] > 0 and limit is not None
                if commit["userMetadata"] == metadata(mark) and not is_last:
                    return found[place:]
        return []

    def _history(self, table: str, limit: int | None, spark: SparkSession) -> list[Row]:
        most = "" if limit is None else f" LIMIT {limit}"
        # What a statement gives is there already: to ask for some of its columns would take a job of its own.
        return spark.sql(f"DESCRIBE HISTORY {self.sql_name(table)}{most}").collect()


def _signed(mark: LoadMark) -> dict[str, str]:
    """What a writer is told of the load that it writes for."""
    return {
        "txnAppId": app_id(mark),
        "txnVersion": str(mark.sequence),
        "userMetadata": metadata(mark),
    }


@contextmanager
def _marked(spark: SparkSession, mark: LoadMark) -> Iterator[None]:
    """Statements have no options: in the block the session itself says whose commit it is."""
    said = {
        f"{_TXN}txnAppId": app_id(mark),
        f"{_TXN}txnVersion": str(mark.sequence),
        METADATA: metadata(mark),
    }
    with conf_set(spark, said):
        yield


@contextmanager
def _without(spark: SparkSession, *rules: str) -> Iterator[None]:
    """Rules are off in the block, and afterwards as they were: the session may be the user's."""
    with _RULES_ARE_OFF:
        before = {rule: spark.conf.get(rule, None) for rule in rules}
        for rule in rules:
            spark.conf.set(rule, "false")
        try:
            yield
        finally:
            for rule, said in before.items():
                if said is None:
                    spark.conf.unset(rule)
                else:
                    spark.conf.set(rule, said)


def _job(table: str, commits: Sequence[Row]) -> AppliedJob:
    """What the first of these commits did, newest first."""
    commit, before = commits[0], next(iter(commits[1:]), None)
    # A table that was made for the first rows had no version that anybody wrote.
    is_first = commit["version"] == 0 or (
        before is not None and before["version"] == 0 and before["operation"] in _MADE
    )
    return AppliedJob(
        table=table,
        rows=rows_of(commit["operationMetrics"] or {}),
        version_before=None if is_first else int(commit["version"]) - 1,
        version_after=int(commit["version"]),
    )
