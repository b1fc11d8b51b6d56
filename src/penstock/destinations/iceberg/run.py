"""Commits to Iceberg tables: each is atomic, marked with its load, and made once."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, MapType, StructType

from penstock.destinations.iceberg.addressing import IcebergCatalog
from penstock.destinations.iceberg.conflicts import LOG, CommittedMeanwhile, retry_on_conflict
from penstock.destinations.iceberg.ddl import create_statement, replace_statement, table_properties
from penstock.destinations.iceberg.file_commit import FileCommit, read_job_rows, spark_struct
from penstock.destinations.iceberg.history import (
    COUNT_PROPERTIES,
    PROPERTY_PREFIX,
    IcebergSnapshot,
    SnapshotHistory,
    moved_on_error,
    other_changes,
    parse_metadata,
    replace_properties,
    undo_properties,
)
from penstock.destinations.iceberg.publisher import Publisher, snapshot_conf
from penstock.destinations.lake.addressing import DatasetTables
from penstock.destinations.lake.ddl import add_columns_statement, missing_fields
from penstock.destinations.lake.rows import align_structs
from penstock.errors import CommitRolledBack
from penstock.interfaces import AppliedJob, TableRestore, missing_table, restore_refused
from penstock.package.sql import literal, quote_name
from penstock.spark.conf import temporary_conf

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from penstock.destinations.iceberg.settings import CommitMode
    from penstock.destinations.lake.flat_files import JobFiles
    from penstock.destinations.lake.merge_statement import MergeStatement
    from penstock.interfaces import LoadMark, TableChanges, TableCommit
    from penstock.schema import Table
    from penstock.spark.iceberg_library import IcebergVersion

_SOURCE_VIEW: Final = "penstock_merge_source"
_NESTED_TYPES: Final = (ArrayType, MapType, StructType)
_READ_ATTEMPTS: Final = 3
# Old tables have many snapshots with long summaries; only the properties that are used are collected.
_SUMMARY_SQL: Final = (
    f"map_filter(summary, (name, value) -> startswith(name, {literal(PROPERTY_PREFIX)}) "
    f"OR name IN ({', '.join(map(literal, COUNT_PROPERTIES))}))"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergTables(DatasetTables[IcebergCatalog]):
    """The tables of one dataset."""

    commit_mode: CommitMode = "branch"
    """How commits are made."""
    previous_tables: Callable[[], Mapping[str, Table]] = dict
    """The tables of the last complete load: undoing a recreated table restores their partitions."""

    @property
    def can_merge_from_itself(self) -> bool:
        """Whether a merge source may read the table. Spark 4.1 cannot plan such a view of a catalog table."""
        return False

    @property
    def _publisher(self) -> Publisher:
        return Publisher(
            catalog=self.addressing, read_history=self.read_history, commit_mode=self.commit_mode
        )

    def read(self, table: str, version: int | None = None, *, spark: SparkSession) -> DataFrame:
        """Return a frame over a table in the given session."""
        return self.addressing.read(table, version, spark=spark)

    @property
    def file_columns(self) -> tuple[str, str | None]:
        """The column with the file of a row; its size is in the metadata only."""
        return "_file", None

    def count_deletion(self, table: str, *, spark: SparkSession) -> TableChanges | None:
        """Return None: Spark counts the rows, from the metadata of the files."""
        del table, spark
        return None

    def read_history(self, table: str, *, spark: SparkSession) -> SnapshotHistory:
        """Read all snapshots and refs of a table: from its metadata, or over Connect in one job."""
        newest = self.addressing.open_version(table, spark=spark)
        if newest is not None:
            return parse_metadata(newest.metadata)
        for _ in range(_READ_ATTEMPTS):
            history = _parse_history(spark.sql(self.addressing.history_query(table, _SUMMARY_SQL)).collect())
            if not history.is_torn:
                return history
        raise CommittedMeanwhile(f"{table} changes faster than its history can be read")

    def version(self, table: str, *, spark: SparkSession) -> int | None:
        """Return the current snapshot of `main`; None before the first commit."""
        return self.read_history(table, spark=spark).head

    def properties_of(self, table: str, *, spark: SparkSession) -> dict[str, str]:
        """Return the current properties of a table."""
        properties = spark.sql(f"SHOW TBLPROPERTIES {self.sql_name(table)}").collect()
        return {row["key"]: row["value"] for row in properties}

    def commits(self, table: str, most: int | None, *, spark: SparkSession) -> tuple[TableCommit, ...]:
        """Return the commits, newest first, with the loads that made them."""
        return self.read_history(table, spark=spark).commits()[:most]

    def create(self, table: Table, *, spark: SparkSession) -> None:
        """Create an empty table by its hints, if it does not exist."""
        properties = table_properties(table, self.properties)
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

        Without files all rows are deleted. A commit of the load that the table has is not repeated.
        """
        rows = read_job_rows(files) if files is not None else None
        if files is not None and rows is None:
            return None

        def add_columns(version: IcebergVersion) -> bool:
            if files is None:
                return False
            missing = missing_fields(spark_struct(version.metadata), json.loads(files.schema_json))
            if missing:
                spark.sql(add_columns_statement(self.sql_name(table.name), missing))
            return bool(missing)

        commit = FileCommit(
            table=table.name,
            rows=rows,
            mark=mark,
            replaces_rows=replaces_rows,
            commit_mode=self.commit_mode,
            open_version=lambda: self.addressing.open_version(table.name, spark=spark),
            create=lambda: self.create(table, spark=spark),
            add_columns=add_columns,
        )
        result = commit.make()
        if isinstance(result, AppliedJob):
            return result
        LOG.debug("Spark writes load %s to %s: %s", mark.load_id, table.name, result.reason)
        return None

    def append(self, table: Table, rows: DataFrame, mark: LoadMark, *, spark: SparkSession) -> AppliedJob:
        """Append rows once; create the table if it does not exist."""
        return self._commit(
            table,
            rows,
            mark,
            lambda target: self._align_rows(table.name, rows, spark).writeTo(target).append(),
            spark=spark,
        )

    def overwrite(self, table: Table, rows: DataFrame, mark: LoadMark, *, spark: SparkSession) -> AppliedJob:
        """Replace all rows in one commit.

        The table keeps its partitions, properties and grants, and the columns that these rows lack.
        """
        all_rows = F.lit(True)  # noqa: FBT003 - a condition that all rows fulfil
        return self._commit(
            table,
            rows,
            mark,
            lambda target: self._align_rows(table.name, rows, spark).writeTo(target).overwrite(all_rows),
            spark=spark,
        )

    def recreate(self, table: Table, rows: DataFrame, mark: LoadMark, *, spark: SparkSession) -> AppliedJob:
        """Replace data and schema in one commit; earlier snapshots can still be read."""
        if not self.exists(table.name, spark=spark):
            return self.append(table, rows, mark, spark=spark)

        def write() -> None:
            rows.createOrReplaceTempView(_SOURCE_VIEW)
            try:
                properties = table_properties(table, self.properties)
                query = f"SELECT * FROM {quote_name(_SOURCE_VIEW)}"
                spark.sql(replace_statement(self.sql_name(table.name), table, properties, query))
            finally:
                spark.catalog.dropTempView(_SOURCE_VIEW)

        return self._publisher.recreate(table.name, mark, write, spark=spark)

    def merge(
        self,
        table: Table,
        source: DataFrame,
        statement: MergeStatement,
        mark: LoadMark,
        *,
        spark: SparkSession,
    ) -> AppliedJob:
        """Merge a source into an existing table; missing columns are added before."""
        complete = replace(
            statement, target_columns=frozenset((*statement.target_columns, *statement.columns))
        )

        def write(target: str) -> None:
            self._align_rows(table.name, source, spark).createOrReplaceTempView(_SOURCE_VIEW)
            try:
                spark.sql(complete.sql(target=target, source=quote_name(_SOURCE_VIEW)))
            finally:
                spark.catalog.dropTempView(_SOURCE_VIEW)

        return self._commit(table, source, mark, write, columns=statement.columns, spark=spark)

    def truncate(self, table: str, *, spark: SparkSession) -> None:
        """Delete all rows in one commit."""
        retry_on_conflict(table, lambda: spark.sql(f"DELETE FROM {self.sql_name(table)}"))

    def drop(self, table: str, *, spark: SparkSession) -> None:
        """Drop a table with all its rows, if it exists."""
        spark.sql(f"DROP TABLE IF EXISTS {self.sql_name(table)} PURGE")

    def drop_all(self, *, spark: SparkSession) -> None:
        """Drop the schema with all its tables; a catalog refuses to drop a schema that has tables."""
        name = quote_name(self.addressing.catalog, self.addressing.dataset)
        if spark.catalog.databaseExists(name):
            for row in spark.sql(f"SHOW TABLES IN {name}").collect():
                self.drop(row["tableName"], spark=spark)
            spark.sql(f"DROP SCHEMA IF EXISTS {name}")

    def to_undo(self, table: str, mark: LoadMark, *, spark: SparkSession) -> AppliedJob | None:
        """Return the commit of a load that is still in effect; None if there is none.

        A load that has only written a branch is returned too, so that no other process can publish it.
        """
        if not self.exists(table, spark=spark):
            return None
        history = self.read_history(table, spark=spark)
        if history.is_undone(mark.load_id):
            return None
        if (commit := history.load_commit(mark)) is not None:
            applied = history.applied_job(table, commit)
            history.check_undoable(applied, mark.load_id)
            return applied
        history.check_branches(table, mark)
        branch_head = history.branch_head(mark)
        if branch_head is None:
            return None
        return AppliedJob(table=table, rows=0, version_before=history.head, version_after=branch_head)

    def undo(self, applied: AppliedJob, load_id: str, *, spark: SparkSession) -> None:
        """Restore the version before a job; raise if the table changed since.

        The undo is recorded by a snapshot without changes. A table that the job created is left without rows.
        """
        retry_on_conflict(applied.table, lambda: self._undo_once(applied, load_id, spark))

    def _undo_once(self, applied: AppliedJob, load_id: str, spark: SparkSession) -> None:
        history = self.read_history(applied.table, spark=spark)
        if history.is_undone(load_id):
            return
        is_published = history.is_published(applied, load_id)
        if is_published:
            history.check_undoable(applied, load_id)
            if applied.version_before is not None and history.is_table_replacement(applied.version_after):
                # A rollback cannot reach a version that is no ancestor: its rows are written again.
                properties = {
                    **undo_properties(applied, load_id),
                    **replace_properties(applied.version_after),
                }
                with temporary_conf(spark, snapshot_conf(properties)):
                    self._restore(applied.table, applied.version_before, spark)
                return
            if applied.version_before is not None:
                self._roll_back(applied, applied.version_before, load_id, spark)
        no_rows = spark.createDataFrame([], self.read(applied.table, spark=spark).schema)
        writer = no_rows.writeTo(self.sql_name(applied.table))
        with temporary_conf(spark, snapshot_conf(undo_properties(applied, load_id))):
            if is_published and applied.version_before is None:
                # Not a DELETE: one of all rows takes no snapshot properties. A concurrent commit refuses it.
                writer = writer.option("isolation-level", "serializable")
                writer = writer.option("validate-from-snapshot-id", str(applied.version_after))
                writer.overwrite(F.lit(True))  # noqa: FBT003 - a condition that all rows fulfil
            else:
                writer.append()

    def _roll_back(self, applied: AppliedJob, version: int, load_id: str, spark: SparkSession) -> None:
        """Roll back to a version. The previous head can only be checked afterwards."""
        statement = self.addressing.call_statement(
            "rollback_to_snapshot", applied.table, snapshot_id=str(version)
        )
        previous: int = spark.sql(statement).collect()[0]["previous_snapshot_id"]
        if previous != applied.version_after:
            self._set_head(applied.table, previous, spark)
            raise moved_on_error(applied, load_id)

    def _restore(self, table: str, version: int, spark: SparkSession) -> None:
        """Replace the table with the rows and columns of an older snapshot."""
        previous = self.previous_tables().get(table)
        properties = table_properties(previous, self.properties) if previous else {}
        query = f"SELECT * FROM {self.sql_name(table)} VERSION AS OF {version}"
        spark.sql(replace_statement(self.sql_name(table), previous, properties, query))

    def plan_restore(
        self, table: str, version: int | None, own_loads: Container[str], *, spark: SparkSession
    ) -> TableRestore:
        """Return what the restore of a snapshot would do; None as a version is the time before the table."""
        if not self.exists(table, spark=spark):
            return missing_table(table, version)
        history = self.read_history(table, spark=spark)
        later = history.commits_since(version)
        return TableRestore(
            table=table,
            version=version,
            newest=history.head,
            other_changes=other_changes(later or (), own_loads),
            obstacle=f"snapshot {version} of {table} was expired" if later is None else None,
        )

    def restore(
        self, planned: TableRestore, mark: LoadMark, *, overwrites: bool, spark: SparkSession
    ) -> AppliedJob:
        """Restore a snapshot by one commit; its rows are written again only if the columns differ."""
        table, version = planned.table, planned.version or 0

        def check(history: SnapshotHistory) -> None:
            later = history.commits_since(planned.newest)
            changes = ("its snapshots were expired",) if later is None else other_changes(later, ())
            if changes and not overwrites:
                raise restore_refused(table, changes)

        columns = self.read(table, version, spark=spark).schema
        if self.commit_mode == "direct" or columns != self.read(table, spark=spark).schema:
            history = self.read_history(table, spark=spark)
            if not history.has_commit(mark):
                check(history)
            return self._publisher.recreate(
                table, mark, lambda: self._restore(table, version, spark), spark=spark
            )
        no_rows = spark.createDataFrame([], columns)
        return self._publisher.restore(
            table,
            mark,
            version,
            lambda target: no_rows.writeTo(target).append(),
            check=check,
            set_head=lambda head: self._set_head(table, head, spark),
            spark=spark,
        )

    def _set_head(self, table: str, version: int, spark: SparkSession) -> int | None:
        """Make a snapshot the head of `main`, and return the previous head."""
        statement = self.addressing.call_statement("set_current_snapshot", table, snapshot_id=str(version))
        previous: int | None = spark.sql(statement).collect()[0]["previous_snapshot_id"]
        return previous

    def verify(self, applied: AppliedJob, mark: LoadMark, *, spark: SparkSession) -> None:
        """Raise `CommitRolledBack` unless the commit of a job is in effect.

        If snapshots of `main` have expired, the result of the job is accepted as evidence.
        """
        table = applied.table
        history = self.read_history(table, spark=spark) if self.exists(table, spark=spark) else None
        is_present = history is not None and (history.has_commit(mark) or history.is_truncated)
        if history is None or not is_present or history.is_undone(mark.load_id):
            raise CommitRolledBack(table=table, load_id=mark.load_id, version=applied.version_after)

    def fence(self, table: str, mark: LoadMark, *, spark: SparkSession) -> None:
        """Keep an aborted load from being published, if the table exists."""
        if not self.exists(table, spark=spark):
            return
        no_rows = spark.createDataFrame([], self.read(table, spark=spark).schema)
        self._publisher.fence(table, mark, lambda target: no_rows.writeTo(target).append(), spark=spark)

    def _commit(
        self,
        table: Table,
        rows: DataFrame,
        mark: LoadMark,
        write: Callable[[str], None],
        *,
        spark: SparkSession,
        columns: Iterable[str] | None = None,
    ) -> AppliedJob:
        names = tuple(rows.columns if columns is None else columns)
        return self._publisher.commit(
            table.name,
            mark,
            write,
            prepare=lambda: self._prepare_table(table, rows, names, spark),
            spark=spark,
        )

    def _align_rows(self, table: str, rows: DataFrame, spark: SparkSession) -> DataFrame:
        if not any(isinstance(field.dataType, _NESTED_TYPES) for field in rows.schema):
            return rows
        return align_structs(rows, self.read(table, spark=spark).schema)

    def _prepare_table(
        self, table: Table, rows: DataFrame, columns: Iterable[str], spark: SparkSession
    ) -> None:
        """Create the table if it does not exist, and add missing columns, null in existing rows."""
        if not self.exists(table.name, spark=spark):
            self.create(table, spark=spark)
        table_struct = self.read(table.name, spark=spark).schema.jsonValue()
        row_struct = rows.select(*map(quote_name, columns)).schema.jsonValue()
        if missing := missing_fields(table_struct, row_struct):
            spark.sql(add_columns_statement(self.sql_name(table.name), missing))


def _parse_history(rows: Iterable[Any]) -> SnapshotHistory:
    snapshots, refs, expiring_refs = {}, {}, set()
    for row in rows:
        if row["name"] is not None:
            refs[row["name"]] = row["snapshot_id"]
            if row["age"] is not None:
                expiring_refs.add(row["name"])
        else:
            snapshots[row["snapshot_id"]] = IcebergSnapshot(
                id=row["snapshot_id"],
                parent=row["parent_id"],
                operation=row["operation"],
                summary=row["summary"] or {},
            )
    return SnapshotHistory(snapshots=snapshots, refs=refs, expiring_refs=frozenset(expiring_refs))
