"""What the history of a Delta table says of the loads that wrote to it. No Spark here."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from penstock.errors import CommitRolledBack, DestinationTerminalException
from penstock.interfaces import AppliedJob, TableCommit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import Row

    from penstock.interfaces import LoadMark


_FENCED: Final = "fenced"


def app_id(mark: LoadMark) -> str:
    """Whose transactions these are: Delta keeps the newest number of each."""
    return f"penstock/{mark.pipeline_name}"


def load_metadata(mark: LoadMark) -> str:
    """What the commits of a load say."""
    return json.dumps(
        {
            "load_id": mark.load_id,
            "pipeline": mark.pipeline_name,
            "sequence": mark.sequence,
            "manifest": mark.manifest_hash,
        }
    )


def parse_commit(version: int, text: str | None) -> TableCommit:
    """What a commit says of itself; what others write there is theirs."""
    try:
        said = json.loads(text or "null")
    except ValueError:
        said = None
    match said:
        case {"load_id": str(load_id), "manifest": str()} | {"prepares": str(load_id)}:
            return TableCommit(version=version, load_id=load_id, pipeline_name=said.get("pipeline"))
        case {"undone": str(load_id)}:
            return TableCommit(version=version, undoes=load_id)
        case _:
            return TableCommit(version=version)


def create_table_metadata(mark: LoadMark) -> str:
    """What a commit says that creates a table for the rows of a load, before they are written.

    It is part of the load for readers. An attempt that looks for the rows of the load does not take it
    for their commit.
    """
    return json.dumps({"prepares": mark.load_id, "pipeline": mark.pipeline_name})


def fence_metadata(load_id: str) -> str:
    """What a commit says that uses up the transaction number of an aborted load, and writes no rows."""
    return json.dumps({_FENCED: load_id})


def is_without_rows(text: str | None, load_id: str) -> bool:
    """Whether a commit after that of a load changes no row: a table may be taken back although it exists."""
    return text == maintenance_metadata(load_id) or (text or "").startswith(f'{{"{_FENCED}"')


def maintenance_metadata(load_id: str) -> str:
    """What a commit says that changes no rows, and sets right what the load's commit undid."""
    return json.dumps({"kept": load_id})


def undo_metadata(applied: AppliedJob, load_id: str) -> str:
    """What the commit says that takes a job back."""
    return json.dumps({"undone": load_id, "version": applied.version_after})


def is_in_effect(later_commits: Sequence[Row], applied: AppliedJob, load_id: str) -> bool | None:
    """Whether a table shows what a job wrote, by the commits after it, newest first.

    None where the table was restored to a moment: only a restore to a version says what the table shows.
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
    """Rows of the load that are in the table now; a merge also counts those that it only copied."""
    merged = [metrics.get(name) for name in ("numTargetRowsInserted", "numTargetRowsUpdated")]
    if any(count is not None for count in merged):
        return sum(int(count) for count in merged if count is not None)
    counted = metrics.get("numOutputRows")
    return int(counted) if counted is not None else None


_CREATE_OPERATIONS: Final = frozenset(("CREATE TABLE", "CREATE OR REPLACE TABLE"))
# A commit that was just made is nearly always the newest; the one before it is looked at with it.
_NEWEST_COMMITS: Final = 2
# How far back a commit is looked for first; tables that many write to may need a longer look.
_RECENT_COMMITS: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class TableHistory:
    """The commits to one table; each question asks the table anew."""

    table: str
    read_commits: Callable[[int | None], list[Row]]
    """Returns so many commits, or all, newest first."""

    def version(self) -> int:
        """The number of the newest commit."""
        return int(self.read_commits(1)[0]["version"])

    def commits_of_load(self, mark: LoadMark) -> list[Row]:
        """The commit of a load's rows, and those before it that were looked at; empty where there is none."""
        for limit in (_NEWEST_COMMITS, _RECENT_COMMITS, None):
            found = self.read_commits(limit)
            for place, commit in enumerate(found):
                # The one before it must be among them, unless it is the first of all.
                is_last = place + 1 == len(found) and commit["version"] > 0 and limit is not None
                if commit["userMetadata"] == load_metadata(mark) and not is_last:
                    return found[place:]
        return []

    def reaches_back_to(self, mark: LoadMark) -> bool:
        """Whether the history is whole since a load began: Delta deletes what is old."""
        oldest = self.read_commits(None)[-1]
        return bool(oldest["version"] == 0 or oldest["timestamp"].timestamp() < float(mark.load_id))

    def is_undone(self, applied: AppliedJob, load_id: str) -> bool:
        """Whether a table was brought back, by us or by hand. One that was changed otherwise is an error."""
        since = self._commits_after(applied)
        if is_in_effect(since, applied, load_id) is False:
            return True
        if any(not is_without_rows(commit["userMetadata"], load_id) for commit in since):
            raise DestinationTerminalException(
                f"{self.table} was changed after version {applied.version_after} and cannot be rolled back",
                hint=f"bring it back by hand to what it was before load {load_id}, with RESTORE TABLE",
            )
        return False

    def check_in_effect(self, applied: AppliedJob, load_id: str) -> None:
        """Raise unless the table shows what a job wrote."""
        if not is_in_effect(self._commits_after(applied), applied, load_id):
            raise CommitRolledBack(table=self.table, load_id=load_id, version=applied.version_after)

    def _commits_after(self, applied: AppliedJob) -> list[Row]:
        """The commits after that of a job."""
        after, newest = applied.version_after or 0, self.version()
        return self.read_commits(newest - after) if newest > after else []


def applied_job(table: str, commits: Sequence[Row]) -> AppliedJob:
    """What the first of these commits did, newest first."""
    commit, before = commits[0], next(iter(commits[1:]), None)
    # A table that was made for the first rows had no version that anybody wrote.
    is_first = commit["version"] == 0 or (
        before is not None and before["version"] == 0 and before["operation"] in _CREATE_OPERATIONS
    )
    return AppliedJob(
        table=table,
        rows=row_count(commit["operationMetrics"] or {}),
        version_before=None if is_first else int(commit["version"]) - 1,
        version_after=int(commit["version"]),
    )
