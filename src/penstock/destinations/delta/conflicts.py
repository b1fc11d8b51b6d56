"""Commits that are refused: after those of others they are tried again, by a rule of the table they are not.

Delta lets the first of two commits through that could have seen each other's rows, and refuses the second one
without a trace in the table.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Final

from penstock.config import logger
from penstock.destinations.lake.conflicts import retry_commit
from penstock.errors import DestinationTerminalException

if TYPE_CHECKING:
    from collections.abc import Callable

# Classic Spark and Connect give these errors other classes; both have the names in their text.
_CONFLICTS: Final = (
    "DELTA_CONCURRENT_APPEND",
    "DELTA_CONCURRENT_DELETE_READ",
    "DELTA_CONCURRENT_DELETE_DELETE",
    "DELTA_CONCURRENT_TRANSACTION",
    "DELTA_CONCURRENT_WRITE",
    "DELTA_METADATA_CHANGED",
    "DELTA_PROTOCOL_CHANGED",
)
# Not more than the rule: what follows in their text are values of a row. That of a length begins with one.
_VIOLATED_CONSTRAINT: Final = re.compile(
    r"\[DELTA_(?:(?:VIOLATE_CONSTRAINT|NOT_NULL_CONSTRAINT)\w*\][^\n]*|EXCEED_CHAR\w*\])"
)
_VALUES_SUFFIX: Final = " by row with values:"
_log = logger("penstock.delta")


def is_conflict(error: BaseException) -> bool:
    """Whether a commit was refused because another one came first.

    >>> is_conflict(RuntimeError("[DELTA_CONCURRENT_APPEND.WITHOUT_HINT] Transaction conflict detected."))
    True
    """
    text = str(error)
    return any(f"[{name}" in text for name in _CONFLICTS)


def violated_constraint(error: BaseException) -> str | None:
    """The rule of a table that a row broke, in Delta's words.

    >>> told = "[DELTA_VIOLATE_CONSTRAINT_WITH_VALUES] CHECK a (b > 0) violated by row with values:"
    >>> violated_constraint(RuntimeError(told))
    '[DELTA_VIOLATE_CONSTRAINT_WITH_VALUES] CHECK a (b > 0) violated'
    """
    found = _VIOLATED_CONSTRAINT.search(str(error))
    return found[0].removesuffix(_VALUES_SUFFIX) if found else None


def retry_on_conflict(
    table: str, commit: Callable[[], object], *, wait: Callable[[float], None] = time.sleep
) -> None:
    """Make a commit, again as often as another one comes first, and never if its rows are refused."""
    try:
        retry_commit(table, commit, is_conflict=is_conflict, log=_log, wait=wait)
    except Exception as error:
        if rule := violated_constraint(error):
            raise DestinationTerminalException(
                f"table {table} refuses a row: {rule}",
                hint="change the rule or the rows; `drop_pending_packages` gives this load up",
                table=table,
            ) from error
        raise
