"""The history of a Delta table: its commits, their metadata, and the loads that made them. No Spark here."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from penstock.errors import CommitRolledBack, DestinationTerminalException
from penstock.interfaces import AppliedJob, TableCommit

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence

    from penstock.interfaces import LoadMark


class Commit(Protocol):
    """The facts about a commit by their names in Spark's history: a row of Spark, or a dictionary."""

    def __getitem__(self, name: str, /) -> Any:
        """Return a fact."""


_FENCED: Final = "fenced"
_ROW_KEEPING_OPERATIONS: Final = frozenset(("OPTIMIZE", "VACUUM START", "VACUUM END"))
SCHEMA_METADATA: Final = json.dumps({"schema": "updated"})
"""The metadata of a commit that creates an empty table, or changes its columns or settings."""


def app_id(mark: LoadMark) -> str:
    """Return the application id of the transactions of a pipeline; Delta keeps its newest number."""
    return f"penstock/{mark.pipeline_name}"


def load_metadata(mark: LoadMark) -> str:
    """Return the metadata of the commits of a load."""
    return json.dumps(
        {
            "load_id": mark.load_id,
            "pipeline": mark.pipeline_name,
            "sequence": mark.sequence,
            "manifest": mark.manifest_hash,
        }
    )


def parse_commit(version: int, text: str | None) -> TableCommit:
    """Parse the metadata of a commit; one of another writer has no load."""
    try:
        metadata = json.loads(text or "null")
    except ValueError:
        metadata = None
    match metadata:
        case {"load_id": str(load_id), "manifest": str()} | {"prepares": str(load_id)}:
            return TableCommit(version=version, load_id=load_id, pipeline_name=metadata.get("pipeline"))
        case {"undone": str(load_id)}:
            return TableCommit(version=version, undoes=load_id)
        case _:
            return TableCommit(version=version)


def create_table_metadata(mark: LoadMark) -> str:
    """Return the metadata of the commit that creates an empty table for the rows of a load.

    For readers it is part of the load. It is not the commit that a retry looks for.
    """
    return json.dumps({"prepares": mark.load_id, "pipeline": mark.pipeline_name})


def fence_metadata(load_id: str) -> str:
    """Return the metadata of the empty commit that uses up the transaction number of an aborted load."""
    return json.dumps({_FENCED: load_id})


def is_without_rows(text: str | None, load_id: str) -> bool:
    """Return whether a commit changes no row, so that an earlier one can still be undone."""
    is_known = text in {maintenance_metadata(load_id), SCHEMA_METADATA}
    return is_known or (text or "").startswith(f'{{"{_FENCED}"')


def other_changes(commits: Sequence[Commit], own_loads: Container[str]) -> tuple[str, ...]:
    """Describe those of the commits, newest first, that change rows and are not of own loads; oldest first.

    Loads that were rolled back, with the commits that did it, change nothing.
    """
    parsed = {
        int(commit["version"]): parse_commit(commit["version"], commit["userMetadata"]) for commit in commits
    }
    undone = {commit.undoes for commit in parsed.values() if commit.undoes is not None}
    return tuple(
        _describe_change(commit, parsed[int(commit["version"])])
        for commit in reversed(commits)
        if not (
            parsed[int(commit["version"])].load_id in own_loads
            or parsed[int(commit["version"])].load_id in undone
            or _keeps_rows(commit)
        )
    )


def _keeps_rows(commit: Commit) -> bool:
    """Return whether a commit leaves the rows as they were, or rolls a load back."""
    text = commit["userMetadata"] or ""
    is_internal = text == SCHEMA_METADATA or text.startswith(('{"kept"', '{"undone"', f'{{"{_FENCED}"'))
    return is_internal or commit["operation"] in _ROW_KEEPING_OPERATIONS


def _describe_change(commit: Commit, parsed: TableCommit) -> str:
    """Return one line about a commit of another writer."""
    writer = f"load {parsed.load_id} of {parsed.pipeline_name}" if parsed.load_id else "another writer"
    return f"version {commit['version']} ({commit['operation'] or 'commit'}) by {writer}"


def maintenance_metadata(load_id: str) -> str:
    """Return the metadata of a commit that restores table settings after the commit of a load."""
    return json.dumps({"kept": load_id})


def undo_metadata(applied: AppliedJob, load_id: str) -> str:
    """Return the metadata of the commit that undoes a job."""
    return json.dumps({"undone": load_id, "version": applied.version_after})


def is_in_effect(later_commits: Sequence[Commit], applied: AppliedJob, load_id: str) -> bool | None:
    """Return whether the commit of a job is in effect, by the commits after it, newest first.

    None after a restore to a timestamp: only a restore to a version shows what the table contains.
    """
    after = applied.version_after or 0
    state: bool | None = True
    states: dict[int, bool | None] = {after: state}
    for commit in reversed(later_commits):
        if commit["userMetadata"] == undo_metadata(applied, load_id):
            state = False
        elif commit["operation"] == "RESTORE":
            version = (commit["operationParameters"] or {}).get("version")
            state = None if version is None else int(version) >= after and states.get(int(version), state)
        states[int(commit["version"])] = state
    return state


def row_count(metrics: Mapping[str, Any]) -> int | None:
    """Return the rows that a load added; the output rows of a merge include copied ones."""
    merged = [metrics.get(name) for name in ("numTargetRowsInserted", "numTargetRowsUpdated")]
    if any(count is not None for count in merged):
        return sum(int(count) for count in merged if count is not None)
    output_rows = metrics.get("numOutputRows")
    return int(output_rows) if output_rows is not None else None


_CREATE_OPERATIONS: Final = frozenset(("CREATE TABLE", "CREATE OR REPLACE TABLE"))
# A commit that was just made is nearly always the newest; the one before it is read too.
_NEWEST_COMMITS: Final = 2
# The first search for a commit; a table with many writers may need a longer one.
_RECENT_COMMITS: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class TableHistory:
    """The commits to one table; each method reads them again."""

    table: str
    read_commits: Callable[[int | None], list[Commit]]
    """Return the given number of commits, or all, newest first."""

    def version(self) -> int:
        """Return the number of the newest commit."""
        return int(self.read_commits(1)[0]["version"])

    def commits_of_load(self, mark: LoadMark) -> list[Commit]:
        """Return the commit of a load and earlier ones, newest first; empty if the load has none."""
        for limit in (_NEWEST_COMMITS, _RECENT_COMMITS, None):
            commits = self.read_commits(limit)
            for index, commit in enumerate(commits):
                # The commit before it is needed too, unless it is the first of the table.
                is_last = index + 1 == len(commits) and commit["version"] > 0 and limit is not None
                if commit["userMetadata"] == load_metadata(mark) and not is_last:
                    return commits[index:]
        return []

    def reaches_back_to(self, mark: LoadMark) -> bool:
        """Return whether the history is complete since a load began: Delta deletes old commits."""
        oldest = self.read_commits(None)[-1]
        return bool(oldest["version"] == 0 or oldest["timestamp"].timestamp() < float(mark.load_id))

    def is_undone(self, applied: AppliedJob, load_id: str) -> bool:
        """Return whether a job was undone, by penstock or by hand. Raise if rows changed otherwise since."""
        later_commits = self._commits_after(applied)
        if is_in_effect(later_commits, applied, load_id) is False:
            return True
        if any(not is_without_rows(commit["userMetadata"], load_id) for commit in later_commits):
            raise DestinationTerminalException(
                f"{self.table} was changed after version {applied.version_after} and cannot be rolled back",
                hint=f"restore the version before load {load_id} by hand, with RESTORE TABLE",
            )
        return False

    def check_in_effect(self, applied: AppliedJob, load_id: str) -> None:
        """Raise `CommitRolledBack` unless the commit of a job is in effect."""
        if not is_in_effect(self._commits_after(applied), applied, load_id):
            raise CommitRolledBack(table=self.table, load_id=load_id, version=applied.version_after)

    def _commits_after(self, applied: AppliedJob) -> list[Commit]:
        """Return the commits after that of a job, newest first."""
        return self.commits_since(applied.version_after or 0)

    def commits_since(self, version: int) -> list[Commit]:
        """Return the commits after a version, newest first, as far as the history has them."""
        newest = self.version()
        commits = self.read_commits(newest - version) if newest > version else []
        return [commit for commit in commits if commit["version"] > version]


def applied_job(table: str, commits: Sequence[Commit]) -> AppliedJob:
    """Return the result of the job that made the first of these commits, newest first."""
    commit, previous = commits[0], next(iter(commits[1:]), None)
    # The commit that creates a table for its first rows is not a version to restore.
    is_first = commit["version"] == 0 or (
        previous is not None and previous["version"] == 0 and _creates_empty_table(previous)
    )
    return AppliedJob(
        table=table,
        rows=row_count(commit["operationMetrics"] or {}),
        version_before=None if is_first else int(commit["version"]) - 1,
        version_after=int(commit["version"]),
    )


def _creates_empty_table(commit: Commit) -> bool:
    """Return whether a commit creates a table without rows; a commit of files may create one with rows."""
    return commit["operation"] in _CREATE_OPERATIONS and not row_count(commit["operationMetrics"] or {})
