"""The publisher of commits to Iceberg tables: each commit is published once, with any number of writers.

Rows are written to a branch that begins at the head of `main`, as exactly one snapshot with the mark of the
load. Then `main` is fast-forwarded to it, which the table refuses if another commit was made in between: of
two attempts of one load, or of two writers, only one succeeds. The refused one retries.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from penstock.destinations.iceberg.conflicts import (
    LOG,
    CommittedMeanwhile,
    is_branch_unsupported,
    is_commit_state_unknown,
    is_fast_forward_refused,
    retry_on_conflict,
)
from penstock.destinations.iceberg.history import (
    MAIN,
    branch_name,
    load_properties,
    replace_properties,
    undo_properties,
)
from penstock.errors import CommitLost
from penstock.interfaces import AppliedJob
from penstock.package.sql import literal
from penstock.spark.conf import temporary_conf

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import SparkSession

    from penstock.destinations.iceberg.addressing import IcebergCatalog
    from penstock.destinations.iceberg.history import SnapshotHistory
    from penstock.destinations.iceberg.settings import CommitMode
    from penstock.interfaces import LoadMark

_SNAPSHOT_PROPERTY: Final = "spark.sql.iceberg.snapshot-property."


class HistoryReader(Protocol):
    """Reads the history of a table."""

    def __call__(self, table: str, *, spark: SparkSession) -> SnapshotHistory:
        """Return the current history of a table."""


def snapshot_conf(summary: Mapping[str, str]) -> dict[str, str]:
    """Return the session settings that add these properties to the summary of snapshots."""
    return {f"{_SNAPSHOT_PROPERTY}{name}": value for name, value in summary.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Publisher:
    """The publisher of commits to the tables of one dataset."""

    catalog: IcebergCatalog
    read_history: HistoryReader
    commit_mode: CommitMode = "branch"

    def commit(
        self,
        table: str,
        mark: LoadMark,
        write: Callable[[str], None],
        *,
        prepare: Callable[[], None],
        spark: SparkSession,
    ) -> AppliedJob:
        """Make the commit of a load unless the table has it.

        `prepare` creates or alters the table; `write` makes one snapshot of the branch or table that it is
        given. Both are called again after a conflict.
        """

        def once() -> AppliedJob:
            prepare()
            history = self.read_history(table, spark=spark)
            commit = history.find_commit(table, mark)
            if commit is not None:
                return history.applied_job(table, commit, skipped=True)
            self._drop_leftover_branches(table, mark, history, spark)
            branch = history.staged_branch(mark) or self._write_branch(table, mark, history, write, spark)
            if branch is None:
                return self._commit_directly(table, mark, write, spark, load_properties(mark))
            return self._publish(table, mark, branch, history.head, spark)

        return retry_on_conflict(table, once)

    def recreate(
        self, table: str, mark: LoadMark, write: Callable[[], None], *, spark: SparkSession
    ) -> AppliedJob:
        """Replace a table in one commit, unless the load has done so.

        A branch has no separate schema, so `main` is written directly: only the lease prevents a concurrent
        attempt. A branch retains the previous version until the load is complete.
        """

        def once() -> AppliedJob:
            history = self.read_history(table, spark=spark)
            commit = history.find_commit(table, mark)
            if commit is not None:
                return history.applied_job(table, commit, skipped=True)
            self._drop_leftover_branches(table, mark, history, spark)
            self._retain_head(table, mark, history, spark)
            return self._commit_directly(
                table,
                mark,
                lambda _: write(),
                spark,
                {**load_properties(mark), **replace_properties(history.head)},
            )

        return retry_on_conflict(table, once)

    def restore(
        self,
        table: str,
        mark: LoadMark,
        version: int,
        write: Callable[[str], None],
        *,
        check: Callable[[SnapshotHistory], None],
        set_head: Callable[[int], int | None],
        spark: SparkSession,
    ) -> AppliedJob:
        """Make an empty commit on top of an earlier snapshot the head of `main`, unless the load has done so.

        `check` raises if the table must not be restored any more. `write` appends no rows. A branch retains
        the previous head until the load is complete. `set_head` returns the previous head: a catalog has no
        condition for it, so it is checked afterwards.
        """

        def once() -> AppliedJob:
            history = self.read_history(table, spark=spark)
            commit = history.find_commit(table, mark)
            if commit is not None:
                return history.applied_job(table, commit, skipped=True)
            check(history)
            self._drop_leftover_branches(table, mark, history, spark)
            branch = f"{branch_name(mark)}_{uuid.uuid4().hex[:8]}"
            self._retain_head(table, mark, history, spark)
            spark.sql(self.catalog.create_branch_statement(table, branch, version))
            properties = {**load_properties(mark), **replace_properties(history.head)}
            with temporary_conf(spark, snapshot_conf(properties)):
                write(self.catalog.branch_sql_name(table, branch))
            head = self.read_history(table, spark=spark).refs[branch]
            previous = set_head(head)
            if previous != history.head:
                set_head(previous or head)
                raise CommittedMeanwhile(table)
            spark.sql(self.catalog.drop_branch_statement(table, branch))
            restored = self.read_history(table, spark=spark)
            return restored.applied_job(table, restored.snapshots[head])

        return retry_on_conflict(table, once)

    def fence(self, table: str, mark: LoadMark, write: Callable[[str], None], *, spark: SparkSession) -> None:
        """Publish a snapshot that marks a load as aborted, unless the load was published before it.

        `write` appends no rows. A branch that began before this snapshot can no longer be published.
        """
        summary = undo_properties(AppliedJob(table=table), mark.load_id)

        def once() -> None:
            history = self.read_history(table, spark=spark)
            if history.has_commit(mark) or history.is_undone(mark.load_id):
                return
            branch = self._write_branch(table, mark, history, write, spark, summary)
            if branch is None:
                with temporary_conf(spark, snapshot_conf(summary)):
                    write(self.catalog.sql_name(table))
                return
            try:
                spark.sql(
                    self.catalog.call_statement(
                        "fast_forward", table, branch=literal(MAIN), to=literal(branch)
                    )
                )
            finally:
                spark.sql(self.catalog.drop_branch_statement(table, branch))

        retry_on_conflict(table, once)

    def _drop_leftover_branches(
        self, table: str, mark: LoadMark, history: SnapshotHistory, spark: SparkSession
    ) -> None:
        for branch in history.leftover_branches(mark):
            spark.sql(self.catalog.drop_branch_statement(table, branch))

    def _retain_head(self, table: str, mark: LoadMark, history: SnapshotHistory, spark: SparkSession) -> None:
        """Create a branch that retains the head of `main` for readers."""
        branch = branch_name(mark)
        if self.commit_mode == "direct" or history.head is None or branch in history.refs:
            return
        try:
            spark.sql(self.catalog.create_branch_statement(table, branch, history.head))
        except Exception as error:  # as below
            if not is_branch_unsupported(error):
                raise

    def _write_branch(
        self,
        table: str,
        mark: LoadMark,
        history: SnapshotHistory,
        write: Callable[[str], None],
        spark: SparkSession,
        summary: Mapping[str, str] | None = None,
    ) -> str | None:
        """Write rows to a branch of this attempt, and return its name; None if branches are not supported."""
        if self.commit_mode == "direct":
            return None
        branch = branch_name(mark)
        if branch in history.refs:
            # Another attempt that may still run writes to it.
            branch = f"{branch}_{uuid.uuid4().hex[:8]}"
        try:
            spark.sql(self.catalog.create_branch_statement(table, branch, history.head))
        except Exception as error:  # classic Spark raises some Java errors unchanged
            if not is_branch_unsupported(error):
                raise
            LOG.warning("%s does not support branches, so commits are direct: see `commits`", table)
            return None
        with temporary_conf(spark, snapshot_conf(summary or load_properties(mark))):
            write(self.catalog.branch_sql_name(table, branch))
        return branch

    def _publish(
        self, table: str, mark: LoadMark, branch: str, head: int | None, spark: SparkSession
    ) -> AppliedJob:
        """Fast-forward `main` from `head`, where the branch began, to the commit on the branch."""
        history = self.read_history(table, spark=spark)
        commit = history.find_visible(table, mark)
        if commit is not None:
            return history.applied_job(table, commit, skipped=True)
        version = history.refs.get(branch)
        if version is None or history.head != head or not history.is_publishable(version, mark):
            # The retry creates the branch again, at the new head.
            spark.sql(self.catalog.drop_branch_statement(table, branch))
            raise CommittedMeanwhile(table)
        try:
            spark.sql(
                self.catalog.call_statement("fast_forward", table, branch=literal(MAIN), to=literal(branch))
            )
        except Exception as error:  # as above
            if is_fast_forward_refused(error):
                spark.sql(self.catalog.drop_branch_statement(table, branch))
            raise
        return history.applied_job(table, history.snapshots[version])

    def _commit_directly(
        self,
        table: str,
        mark: LoadMark,
        write: Callable[[str], None],
        spark: SparkSession,
        summary: Mapping[str, str],
    ) -> AppliedJob:
        """Write to `main`. Only the lease prevents a concurrent attempt.

        A commit of unknown state that the history lacks may still be made: it is not retried in this run.
        """
        try:
            with temporary_conf(spark, snapshot_conf(summary)):
                write(self.catalog.sql_name(table))
        except Exception as error:  # as above
            if not is_commit_state_unknown(error):
                raise
            LOG.warning("a commit to %s is of unknown state: its history is read", table)
        history = self.read_history(table, spark=spark)
        commit = history.find_commit(table, mark)
        if commit is None:
            raise CommitLost(table=table, sequence=mark.sequence)
        return history.applied_job(table, commit)
