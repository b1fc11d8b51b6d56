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
    is_unknown,
    is_without_branches,
    persistent,
    was_refused,
)
from penstock.destinations.iceberg.lineage import MAIN
from penstock.destinations.iceberg.marks import branch_name, properties, replacing, undone
from penstock.errors import CommitLost
from penstock.interfaces import AppliedJob
from penstock.package.sql import literal
from penstock.spark.conf import conf_set

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import SparkSession

    from penstock.destinations.iceberg.lineage import Lineage
    from penstock.destinations.iceberg.place import IcebergCatalog
    from penstock.destinations.iceberg.settings import Way
    from penstock.interfaces import LoadMark

_PROPERTY: Final = "spark.sql.iceberg.snapshot-property."


class Look(Protocol):
    """Finds out what a table has gone through."""

    def __call__(self, table: str, *, spark: SparkSession) -> Lineage:
        """Look at a table as it is now."""


def said(summary: Mapping[str, str]) -> dict[str, str]:
    """The settings by which a session writes this into its snapshots."""
    return {f"{_PROPERTY}{name}": value for name, value in summary.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Publisher:
    """The tables of one dataset, as commits get into them."""

    place: IcebergCatalog
    look: Look
    way: Way = "branch"

    def commit(
        self,
        table: str,
        mark: LoadMark,
        write: Callable[[str], None],
        *,
        ready: Callable[[], None],
        spark: SparkSession,
    ) -> AppliedJob:
        """Make the commit of a load unless it is there.

        `ready` brings the table into shape; `write` makes one snapshot in the place that it is given. Both
        are called again when somebody else came first.
        """

        def once() -> AppliedJob:
            ready()
            seen = self.look(table, spark=spark)
            found = seen.find(table, mark)
            if found is not None:
                return seen.job(table, found, skipped=True)
            for name in seen.left_over(mark):
                spark.sql(self.place.drop_branch(table, name))
            branch = seen.staged(mark) or self._stage(table, mark, seen, write, spark)
            if branch is None:
                return self._directly(table, mark, write, spark, properties(mark))
            return self._publish(table, mark, branch, seen.head, spark)

        return persistent(table, once)

    def renew(
        self, table: str, mark: LoadMark, write: Callable[[], None], *, spark: SparkSession
    ) -> AppliedJob:
        """Put another table in the place of the one that is there, in one commit, unless that was done.

        Branches have no columns of their own, so it is done where readers see it: that no other attempt does
        the same is left to the lease. A branch holds what was there until the load is complete.
        """

        def once() -> AppliedJob:
            seen = self.look(table, spark=spark)
            found = seen.find(table, mark)
            if found is not None:
                return seen.job(table, found, skipped=True)
            for name in seen.left_over(mark):
                spark.sql(self.place.drop_branch(table, name))
            self._hold(table, mark, seen, spark)
            return self._directly(
                table, mark, lambda _: write(), spark, {**properties(mark), **replacing(seen.head)}
            )

        return persistent(table, once)

    def fence(self, table: str, mark: LoadMark, write: Callable[[str], None], *, spark: SparkSession) -> None:
        """Publish a snapshot that says that a load was aborted, unless the load was published before it.

        `write` appends no rows. A branch that began before this snapshot cannot be published any more.
        """
        summary = undone(AppliedJob(table=table), mark.load_id)

        def once() -> None:
            seen = self.look(table, spark=spark)
            if seen.shows(mark) or seen.is_undone(mark.load_id):
                return
            branch = self._stage(table, mark, seen, write, spark, summary)
            if branch is None:
                with conf_set(spark, said(summary)):
                    write(self.place.sql_name(table))
                return
            try:
                spark.sql(self.place.call("fast_forward", table, branch=literal(MAIN), to=literal(branch)))
            finally:
                spark.sql(self.place.drop_branch(table, branch))

        persistent(table, once)

    def _hold(self, table: str, mark: LoadMark, seen: Lineage, spark: SparkSession) -> None:
        """Keep what readers see from being expired as long as they may need it."""
        branch = branch_name(mark)
        if self.way == "direct" or seen.head is None or branch in seen.refs:
            return
        try:
            spark.sql(self.place.create_branch(table, branch, seen.head))
        except Exception as error:  # as below
            if not is_without_branches(error):
                raise

    def _stage(
        self,
        table: str,
        mark: LoadMark,
        seen: Lineage,
        write: Callable[[str], None],
        spark: SparkSession,
        summary: Mapping[str, str] | None = None,
    ) -> str | None:
        """Write the rows to a branch of this attempt alone; None where there are no branches."""
        if self.way == "direct":
            return None
        branch = branch_name(mark)
        if branch in seen.refs:
            # Somebody who may be alive works on it.
            branch = f"{branch}_{uuid.uuid4().hex[:8]}"
        try:
            spark.sql(self.place.create_branch(table, branch, seen.head))
        except Exception as error:  # classic Spark gives some of Java's as they are
            if not is_without_branches(error):
                raise
            LOG.warning("%s cannot have branches, so its commits are made without: see `commits`", table)
            return None
        with conf_set(spark, said(summary or properties(mark))):
            write(self.place.branch(table, branch))
        return branch

    def _publish(
        self, table: str, mark: LoadMark, branch: str, head: int | None, spark: SparkSession
    ) -> AppliedJob:
        """Move readers from `head`, which the branch began at, to the commit on it."""
        seen = self.look(table, spark=spark)
        found = seen.visible(table, mark)
        if found is not None:
            return seen.job(table, found, skipped=True)
        version = seen.refs.get(branch)
        if version is None or seen.head != head or not seen.is_next(version, mark):
            # A branch that was taken away begins anew with the next snapshot, wherever the table is then.
            spark.sql(self.place.drop_branch(table, branch))
            raise CommittedMeanwhile(table)
        try:
            spark.sql(self.place.call("fast_forward", table, branch=literal(MAIN), to=literal(branch)))
        except Exception as error:  # as above
            if was_refused(error):
                spark.sql(self.place.drop_branch(table, branch))
            raise
        return seen.job(table, seen.snapshots[version])

    def _directly(
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
            with conf_set(spark, said(summary)):
                write(self.place.sql_name(table))
        except Exception as error:  # as above
            if not is_unknown(error):
                raise
            LOG.warning("nobody knows whether a commit to %s was made: it is looked for", table)
        seen = self.look(table, spark=spark)
        made = seen.find(table, mark)
        if made is None:
            raise CommitLost(table=table, sequence=mark.sequence)
        return seen.job(table, made)
