"""What a snapshot says of the load that made it, and how the branches of a load are called."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Final

from penstock.interfaces import TableCommit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.interfaces import AppliedJob, LoadMark

PROPERTY_PREFIX: Final = "penstock."
"""The properties of a snapshot that are ours begin with this."""
LOAD, PIPELINE, SEQUENCE, MANIFEST = (
    f"{PROPERTY_PREFIX}{name}" for name in ("load-id", "pipeline", "sequence", "manifest")
)
BRANCH_PREFIX: Final = "penstock_"
"""The branches that are ours begin with this."""
REPLACES: Final = f"{PROPERTY_PREFIX}replaces"
"""The snapshot that a table showed before it was replaced, shape and all: the new one has no parent."""
UNDONE: Final = f"{PROPERTY_PREFIX}undone"
_UNDONE_VERSION: Final = f"{PROPERTY_PREFIX}undone-snapshot"
_MERGE_COUNTS: Final = tuple(f"spark.merge-into.num-target-rows-{name}" for name in ("inserted", "updated"))
COUNT_PROPERTIES: Final = ("added-records", "total-records", *_MERGE_COUNTS)
"""What else of a summary is looked at."""


def load_properties(mark: LoadMark) -> dict[str, str]:
    """What the snapshots of a load say."""
    return {
        LOAD: mark.load_id,
        PIPELINE: mark.pipeline_name,
        SEQUENCE: str(mark.sequence),
        MANIFEST: mark.manifest_hash,
    }


def is_commit_of(summary: Mapping[str, str], mark: LoadMark) -> bool:
    """Whether a snapshot is the commit of a load."""
    return all(summary.get(name) == value for name, value in load_properties(mark).items())


def is_ahead(summary: Mapping[str, str], mark: LoadMark) -> bool:
    """Whether a snapshot is of the same pipeline, and of a load that cannot come before this one."""
    if summary.get(PIPELINE) != mark.pipeline_name or is_commit_of(summary, mark):
        return False
    sequence = summary.get(SEQUENCE, "")
    return sequence.isdecimal() and int(sequence) >= mark.sequence


def parse_commit(version: int, summary: Mapping[str, str]) -> TableCommit:
    """What a snapshot says of itself; what others write there is theirs."""
    if LOAD in summary and MANIFEST in summary:
        return TableCommit(
            version=version,
            load_id=summary[LOAD],
            pipeline_name=summary.get(PIPELINE),
            replaces=REPLACES in summary,
        )
    return TableCommit(version=version, undoes=summary.get(UNDONE))


def undo_properties(applied: AppliedJob, load_id: str) -> dict[str, str]:
    """What the snapshot says that takes a job back."""
    return {UNDONE: load_id, _UNDONE_VERSION: str(applied.version_after)}


def replace_properties(version: int | None) -> dict[str, str]:
    """What the snapshot says that stands in the place of a table."""
    return {} if version is None else {REPLACES: str(version)}


def row_count(operation: str, summary: Mapping[str, str]) -> int | None:
    """Rows of the load that are in the table now; None where rows that were copied are counted with them."""
    merged = [summary.get(name) for name in _MERGE_COUNTS]
    if any(count is not None for count in merged):
        return sum(int(count) for count in merged if count is not None)
    is_counted = operation == "append" or summary.get("total-records") == summary.get("added-records", "0")
    return int(summary.get("added-records", 0)) if is_counted else None


def branch_name(mark: LoadMark) -> str:
    """The branch that a load is written to before readers see it.

    >>> from penstock.interfaces import LoadMark
    >>> branch_name(LoadMark(pipeline_name="shop", sequence=7, load_id="1", manifest_hash="a"))
    'penstock_8d9001d32c_7'
    """
    return f"{_branch_prefix(mark.pipeline_name)}_{mark.sequence}"


def branch_sequence(branch: str, pipeline_name: str) -> int | None:
    """The sequence number of the load that a branch is for; None for branches that are not of the pipeline.

    A load may have several: one for each attempt that met the branch of another one.
    """
    found = re.fullmatch(rf"{_branch_prefix(pipeline_name)}_(\d+)(?:_[0-9a-f]+)?", branch)
    return int(found[1]) if found else None


def _branch_prefix(pipeline_name: str) -> str:
    return f"{BRANCH_PREFIX}{hashlib.sha256(pipeline_name.encode()).hexdigest()[:10]}"
