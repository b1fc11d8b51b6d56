"""What a commit says of the load that made it, in its metadata."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from penstock.interfaces import TableCommit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Row

    from penstock.interfaces import AppliedJob, LoadMark


def app_id(mark: LoadMark) -> str:
    """Whose transactions these are: Delta keeps the newest number of each."""
    return f"penstock/{mark.pipeline_name}"


def metadata(mark: LoadMark) -> str:
    """What the commits of a load say."""
    return json.dumps(
        {
            "load_id": mark.load_id,
            "pipeline": mark.pipeline_name,
            "sequence": mark.sequence,
            "manifest": mark.manifest_hash,
        }
    )


def told(version: int, text: str | None) -> TableCommit:
    """What a commit says of itself; what others write there is theirs."""
    try:
        said = json.loads(text or "null")
    except ValueError:
        said = None
    match said:
        case {"load_id": str(load_id), "manifest": str()}:
            return TableCommit(version=version, load_id=load_id, pipeline_name=said.get("pipeline"))
        case {"undone": str(load_id)}:
            return TableCommit(version=version, undoes=load_id)
        case _:
            return TableCommit(version=version)


def kept(load_id: str) -> str:
    """What a commit says that changes no rows, and sets right what the load's commit undid."""
    return json.dumps({"kept": load_id})


def undone(applied: AppliedJob, load_id: str) -> str:
    """What the commit says that takes a job back."""
    return json.dumps({"undone": load_id, "version": applied.version_after})


def is_back(commit: Row, applied: AppliedJob, load_id: str) -> bool:
    """Whether a commit took a table back to before a job."""
    if commit["userMetadata"] == undone(applied, load_id):
        return True
    to_version = (commit["operationParameters"] or {}).get("version")
    is_restored = commit["operation"] == "RESTORE" and to_version is not None
    return is_restored and int(str(to_version)) < (applied.version_after or 0)


def rows_of(metrics: Mapping[str, Any]) -> int | None:
    """Rows of the load that are in the table now; a merge also counts those that it only copied."""
    merged = [metrics.get(name) for name in ("numTargetRowsInserted", "numTargetRowsUpdated")]
    if any(count is not None for count in merged):
        return sum(int(count) for count in merged if count is not None)
    counted = metrics.get("numOutputRows")
    return int(counted) if counted is not None else None
