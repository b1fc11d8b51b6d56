"""What a commit says of the load that made it, in its metadata."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from penstock.interfaces import TableCommit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Row

    from penstock.interfaces import AppliedJob, LoadMark

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
