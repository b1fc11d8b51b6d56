"""Refused commits to Delta tables: conflicts are retried, violated constraints are not.

Of two concurrent commits that could have read each other's rows Delta accepts the first, and refuses the
second without a trace in the table.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Final

from penstock.config import logger
from penstock.destinations.lake.conflicts import Result, retry_commit
from penstock.errors import DestinationTerminalException

if TYPE_CHECKING:
    from collections.abc import Callable

# The classes of these errors differ between classic Spark and Connect; the names in their text do not.
_CONFLICTS: Final = (
    "DELTA_CONCURRENT_APPEND",
    "DELTA_CONCURRENT_DELETE_READ",
    "DELTA_CONCURRENT_DELETE_DELETE",
    "DELTA_CONCURRENT_TRANSACTION",
    "DELTA_CONCURRENT_WRITE",
    "DELTA_METADATA_CHANGED",
    "DELTA_PROTOCOL_CHANGED",
    # Another writer has created the table or added the column meanwhile.
    "DELTA_TABLE_ALREADY_EXISTS",
    "TABLE_OR_VIEW_ALREADY_EXISTS",
    "FIELD_ALREADY_EXISTS",
    "FIELDS_ALREADY_EXISTS",
)
# Only the constraint: the rest of the text has values of a row. That of a length begins with one.
_VIOLATED_CONSTRAINT: Final = re.compile(
    r"\[DELTA_(?:(?:VIOLATE_CONSTRAINT|NOT_NULL_CONSTRAINT)\w*\][^\n]*|EXCEED_CHAR\w*\])"
)
_VALUES_SUFFIX: Final = " by row with values:"
_log = logger("penstock.delta")


class VersionExists(Exception):
    """Another writer has committed this version of the table."""


def is_conflict(error: BaseException) -> bool:
    """Return whether a commit was refused because of a concurrent commit.

    >>> is_conflict(RuntimeError("[DELTA_CONCURRENT_APPEND.WITHOUT_HINT] Transaction conflict detected."))
    True
    """
    text = str(error)
    return isinstance(error, VersionExists) or any(f"[{name}" in text for name in _CONFLICTS)


def violated_constraint(error: BaseException) -> str | None:
    """Return the constraint of a table that a row violates, in Delta's words.

    >>> message = "[DELTA_VIOLATE_CONSTRAINT_WITH_VALUES] CHECK a (b > 0) violated by row with values:"
    >>> violated_constraint(RuntimeError(message))
    '[DELTA_VIOLATE_CONSTRAINT_WITH_VALUES] CHECK a (b > 0) violated'
    """
    match = _VIOLATED_CONSTRAINT.search(str(error))
    return match[0].removesuffix(_VALUES_SUFFIX) if match else None


def retry_on_conflict(
    table: str, commit: Callable[[], Result], *, wait: Callable[[float], None] = time.sleep
) -> Result:
    """Make a commit, and retry it on a conflict; raise a terminal error if a row violates a constraint."""
    try:
        return retry_commit(table, commit, is_conflict=is_conflict, log=_log, wait=wait)
    except Exception as error:
        if constraint := violated_constraint(error):
            raise DestinationTerminalException(
                f"a row violates a constraint of table {table}: {constraint}",
                hint="change the constraint or the rows; `drop_pending_packages` aborts this load",
                table=table,
            ) from error
        raise
