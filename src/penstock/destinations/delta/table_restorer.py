"""The restore of a version of a Delta table, for the undo of complete loads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException

from penstock.config import logger
from penstock.destinations.delta.conflicts import retry_on_conflict
from penstock.destinations.delta.file_commit import Obstacle, commit_restore, find_missing_files
from penstock.destinations.delta.history import applied_job, other_changes
from penstock.errors import CommitLost
from penstock.interfaces import AppliedJob, TableRestore, restore_refused

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence

    from penstock.destinations.delta.addressing import PathTables
    from penstock.destinations.delta.history import Commit, TableHistory
    from penstock.interfaces import LoadMark

_log = logger("penstock.delta")


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRestorer:
    """The restore of one table, without Spark where that is known to be safe."""

    history: TableHistory
    tables: PathTables | Obstacle
    """The tables that take commits by reference; an obstacle if Spark has to commit."""
    open_version: Callable[[int], object]
    """Opens a version by Spark; raises `AnalysisException` if it is not readable."""
    restore_by_spark: Callable[[int, LoadMark], None]
    skipped_job: Callable[[Sequence[Commit], LoadMark], AppliedJob]
    """Returns the result of an earlier attempt, from its commit and those before."""

    def plan(self, version: int | None, own_loads: Container[str]) -> TableRestore:
        """Return what the restore of a version would do; None as a version is the time before the table."""
        table, newest, base = self.history.table, self.history.version(), -1 if version is None else version
        commits = self.history.commits_since(base)
        obstacle = None
        if len(commits) < newest - base:
            obstacle = f"commits of {table} after version {base} were deleted from its log"
        elif version is not None:
            obstacle = self._find_obstacle(version)
        return TableRestore(
            table=table,
            version=version,
            newest=newest,
            other_changes=other_changes(commits, own_loads),
            obstacle=obstacle,
        )

    def restore(self, planned: TableRestore, mark: LoadMark, *, overwrites: bool) -> AppliedJob:
        """Restore a version by one commit, unless the load has done so."""

        def once() -> AppliedJob:
            if commits := self.history.commits_of_load(mark):
                return self.skipped_job(commits, mark)
            later = other_changes(self.history.commits_since(planned.newest or 0), ())
            if later and not overwrites:
                raise restore_refused(planned.table, later)
            return self._restore(planned.version or 0, self.history.version(), mark)

        return retry_on_conflict(planned.table, once)

    def _restore(self, version: int, newest: int, mark: LoadMark) -> AppliedJob:
        table = self.history.table
        if not isinstance(self.tables, Obstacle):
            result = commit_restore(self.tables.store, table, version, newest, mark)
            if isinstance(result, AppliedJob):
                return result
            _log.debug("Spark restores %s: %s", table, result.reason)
        self.restore_by_spark(version, mark)
        commits = self.history.commits_of_load(mark)
        if not commits:
            raise CommitLost(table=table, sequence=mark.sequence)
        return applied_job(table, commits)

    def _find_obstacle(self, version: int) -> str | None:
        """Return why a version cannot be restored; Spark checks by itself that files exist."""
        table = self.history.table
        missing: frozenset[str] | Obstacle | None = Obstacle("")
        if not isinstance(self.tables, Obstacle):
            missing = find_missing_files(self.tables.store, table, version)
        if isinstance(missing, Obstacle):
            try:
                self.open_version(version)
            except AnalysisException as error:
                return (
                    f"version {version} of {table} cannot be read: {error.getCondition() or 'unknown error'}"
                )
            return None
        if missing is None:
            return f"version {version} of {table} was removed: its log does not reach back to it"
        if missing:
            files = f"{len(missing)} files of version {version} of {table}"
            return f"{files} were deleted, {min(missing)} among them"
        return None
