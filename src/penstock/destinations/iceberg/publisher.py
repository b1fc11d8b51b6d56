"""How a commit gets to where readers see it, once, whoever else is at it.

Rows are written to a branch that begins at what readers see, as exactly one snapshot with the mark of the
load. Then `main` is moved to it, which the table does only as long as nobody has committed in between: two
attempts of one load, or two writers, cannot both get through. Whoever is refused looks again.
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
    """Finds out what a table has gone through."""

    def __call__(self, table: str, *, spark: SparkSession) -> SnapshotHistory:
        """Look at a table as it is now."""


def snapshot_conf(summary: Mapping[str, str]) -> dict[str, str]:
    """The settings by which a session writes this into its snapshots."""
    return {f"{_SNAPSHOT_PROPERTY}{name}": value for name, value in summary.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Publisher:
    """The tables of one dataset, as commits get into them."""

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
        """Make the commit of a load unless it is there.

        `ready` brings the table into shape; `write` makes one snapshot in the place that it is given. Both
        are called again when somebody else came first.
        """

        def once() -> AppliedJob:
            prepare()
            seen = self.read_history(table, spark=spark)
            found = seen.find_commit(table, mark)
            if found is not None:
                return seen.applied_job(table, found, skipped=True)
            for name in seen.leftover_branches(mark):
                spark.sql(self.catalog.drop_branch_statement(table, name))
            branch = seen.staged_branch(mark) or self._write_branch(table, mark, seen, write, spark)
            if branch is None:
                return self._commit_directly(table, mark, write, spark, load_properties(mark))
            return self._publish(table, mark, branch, seen.head, spark)

        return retry_on_conflict(table, once)

    def recreate(
        self, table: str, mark: LoadMark, write: Callable[[], None], *, spark: SparkSession
    ) -> AppliedJob:
        """Put another table in the place of the one that is there, in one commit, unless that was done.

        Branches have no columns of their own, so it is done where readers see it: that no other attempt does
        the same is left to the lease. A branch holds what was there until the load is complete.
        """

        def once() -> AppliedJob:
            seen = self.read_history(table, spark=spark)
            found = seen.find_commit(table, mark)
            if found is not None:
                return seen.applied_job(table, found, skipped=True)
            for name in seen.leftover_branches(mark):
                spark.sql(self.catalog.drop_branch_statement(table, name))
            self._retain_head(table, mark, seen, spark)
            return self._commit_directly(
                table,
                mark,
                lambda _: write(),
                spark,
                {**load_properties(mark), **replace_properties(seen.head)},
            )

        return retry_on_conflict(table, once)

    def fence(self, table: str, mark: LoadMark, write: Callable[[str], None], *, spark: SparkSession) -> None:
        """Publish a snapshot that says that a load was aborted, unless the load was published before it.

        `write` appends no rows. A branch that began before this snapshot cannot be published any more.
        """
        summary = undo_properties(AppliedJob(table=table), mark.load_id)

        def once() -> None:
            seen = self.read_history(table, spark=spark)
            if seen.has_commit(mark) or seen.is_undone(mark.load_id):
                return
            branch = self._write_branch(table, mark, seen, write, spark, summary)
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

    def _retain_head(self, table: str, mark: LoadMark, history: SnapshotHistory, spark: SparkSession) -> None:
        """Keep what readers see from being expired as long as they may need it."""
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
        """Write the rows to a branch of this attempt alone; None where there are no branches."""
        if self.commit_mode == "direct":
            return None
        branch = branch_name(mark)
        if branch in history.refs:
            # Somebody who may be alive works on it.
            branch = f"{branch}_{uuid.uuid4().hex[:8]}"
        try:
            spark.sql(self.catalog.create_branch_statement(table, branch, history.head))
        except Exception as error:  # classic Spark gives some of Java's as they are
            if not is_branch_unsupported(error):
                raise
            LOG.warning("%s cannot have branches, so its commits are made without: see `commits`", table)
            return None
        with temporary_conf(spark, snapshot_conf(summary or load_properties(mark))):
            write(self.catalog.branch_sql_name(table, branch))
        return branch

    def _publish(
        self, table: str, mark: LoadMark, branch: str, head: int | None, spark: SparkSession
    ) -> AppliedJob:
        """Move readers from `head`, which the branch began at, to the commit on it."""
        seen = self.read_history(table, spark=spark)
        found = seen.find_visible(table, mark)
        if found is not None:
            return seen.applied_job(table, found, skipped=True)
        version = seen.refs.get(branch)
        if version is None or seen.head != head or not seen.is_publishable(version, mark):
            # A branch that was taken away begins anew with the next snapshot, wherever the table is then.
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
        return seen.applied_job(table, seen.snapshots[version])

    def _commit_directly(
        self,
        table: str,
        mark: LoadMark,
        write: Callable[[str], None],
        spark: SparkSession,
        summary: Mapping[str, str],
    ) -> AppliedJob:
        """Write where readers see it. That no other attempt does the same is left to the lease.

        A commit of unknown state that is not there may still come: it is not made again in this run.
        """
        try:
            with temporary_conf(spark, snapshot_conf(summary)):
                write(self.catalog.sql_name(table))
        except Exception as error:  # as above
            if not is_commit_state_unknown(error):
                raise
            LOG.warning("nobody knows whether a commit to %s was made: it is looked for", table)
        seen = self.read_history(table, spark=spark)
        made = seen.find_commit(table, mark)
        if made is None:
            raise CommitLost(table=table, sequence=mark.sequence)
        return seen.applied_job(table, made)
