"""Commits to Iceberg tables that others came before, or of which nobody knows whether they were made.

Both are looked at again and made again where they are not there. What a commit of unknown state has written
is never cleaned up: it may be part of the table.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from penstock.config import logger
from penstock.destinations.lake.conflicts import Result, retry_commit

if TYPE_CHECKING:
    from collections.abc import Callable

LOG = logger("penstock.iceberg")
NOT_AN_ANCESTOR: Final = "Cannot fast-forward"
_UNKNOWN: Final = "CommitStateUnknownException"
_CONFLICTS: Final = (
    NOT_AN_ANCESTOR,
    "CommitFailedException",
    _UNKNOWN,
    # Rows that a merge would have had to see came after it had looked.
    "Found conflicting files",
    "Found new conflicting delete files",
    "Missing required files to delete",
    # Another attempt of the same load has made its branch, or another writer the same column.
    "already exists",
    "FIELD_ALREADY_EXISTS",
    # The load is complete, and its branches are gone.
    "Cannot use branch (does not exist)",
    "Ref does not exist",
)
_NO_BRANCHES: Final = ("UnsupportedOperationException", "not supported", "UNSUPPORTED_FEATURE")


class CommittedMeanwhile(Exception):
    """Somebody else has committed since the table was looked at."""


def is_conflict(error: Exception) -> bool:
    """Whether a commit was refused because another one came first, or may have been made.

    >>> is_conflict(RuntimeError("Cannot fast-forward: main is not an ancestor of b"))
    True
    """
    return isinstance(error, CommittedMeanwhile) or _mentions(error, _CONFLICTS)


def is_branch_unsupported(error: Exception) -> bool:
    """Whether a catalog refuses branches altogether."""
    return _mentions(error, _NO_BRANCHES) and not is_conflict(error)


def is_commit_state_unknown(error: Exception) -> bool:
    """Whether nobody knows if a commit was made."""
    return _mentions(error, (_UNKNOWN,))


def is_fast_forward_refused(error: Exception) -> bool:
    """Whether a branch was certainly not published."""
    return _mentions(error, (NOT_AN_ANCESTOR,))


def retry_on_conflict(
    table: str, commit: Callable[[], Result], *, wait: Callable[[float], None] = time.sleep
) -> Result:
    """Make a commit, again as often as another one comes first."""
    return retry_commit(table, commit, is_conflict=is_conflict, log=LOG, wait=wait)


def _mentions(error: Exception, words: tuple[str, ...]) -> bool:
    text = str(error)
    return any(word in text for word in words)
