"""Retries of commits that conflict with another writer's commit, with backoff and jitter."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable

MAX_ATTEMPTS: Final = 20
_MAX_PAUSE: Final = 8.0
_FIRST_PAUSE: Final = 0.25
Result = TypeVar("Result")


def retry_commit(
    table: str,
    commit: Callable[[], Result],
    *,
    is_conflict: Callable[[Exception], bool],
    log: logging.Logger,
    wait: Callable[[float], None] = time.sleep,
) -> Result:
    """Make a commit, and retry it on a conflict, at most `MAX_ATTEMPTS` times."""
    attempt = 1
    while True:
        try:
            return commit()
        except Exception as error:
            if attempt == MAX_ATTEMPTS or not is_conflict(error):
                raise
            log.info("a commit to %s conflicts with another one and is retried (attempt %d)", table, attempt)
        longest = min(_FIRST_PAUSE * 2**attempt, _MAX_PAUSE)
        wait(random.uniform(longest / 4, longest))  # noqa: S311 - a pause
        attempt += 1
