"""Refused commits to Iceberg tables, and commits of unknown state.

Both are retried after another look at the history. The files of a commit of unknown state are never deleted:
they may be part of the table.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from penstock.config import logger
from penstock.destinations.lake.conflicts import Result, retry_commit
from penstock.spark.iceberg_library import StaleVersion

if TYPE_CHECKING:
    from collections.abc import Callable

LOG = logger("penstock.iceberg")
NOT_AN_ANCESTOR: Final = "Cannot fast-forward"
_UNKNOWN: Final = "CommitStateUnknownException"
_CONFLICTS: Final = (
    NOT_AN_ANCESTOR,
    "CommitFailedException",
    _UNKNOWN,
    # Rows that a merge should have read were committed after it read the table.
    "Found conflicting files",
    "Found new conflicting delete files",
    "Missing required files to delete",
    # Another attempt of the same load created its branch, or another writer the same column.
    "already exists",
    "FIELD_ALREADY_EXISTS",
    # The load is complete, and its branches were dropped.
    "Cannot use branch (does not exist)",
    "Ref does not exist",
)
_NO_BRANCHES: Final = ("UnsupportedOperationException", "not supported", "UNSUPPORTED_FEATURE")


class CommittedMeanwhile(Exception):
    """Another writer has committed since the history was read."""


def is_conflict(error: Exception) -> bool:
    """Return whether a commit was refused because of a concurrent commit, or is of unknown state.

    >>> is_conflict(RuntimeError("Cannot fast-forward: main is not an ancestor of b"))
    True
    """
    return isinstance(error, CommittedMeanwhile | StaleVersion) or _mentions(error, _CONFLICTS)


def is_branch_unsupported(error: Exception) -> bool:
    """Return whether a catalog does not support branches."""
    return _mentions(error, _NO_BRANCHES) and not is_conflict(error)


def is_commit_state_unknown(error: Exception) -> bool:
    """Return whether a commit is of unknown state."""
    return _mentions(error, (_UNKNOWN,))


def is_fast_forward_refused(error: Exception) -> bool:
    """Return whether a branch was certainly not published."""
    return _mentions(error, (NOT_AN_ANCESTOR,))


def retry_on_conflict(
    table: str, commit: Callable[[], Result], *, wait: Callable[[float], None] = time.sleep
) -> Result:
    """Make a commit, and retry it on a conflict."""
    return retry_commit(table, commit, is_conflict=is_conflict, log=LOG, wait=wait)


def _mentions(error: Exception, words: tuple[str, ...]) -> bool:
    text = str(error)
    return any(word in text for word in words)
