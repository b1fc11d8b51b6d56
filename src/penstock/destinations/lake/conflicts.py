"""Commits that are refused because others came first are made again.

Nothing is wrong with such a commit: it is made on top of the one that was first. Writers of one table take
turns this way, and whoever is refused waits a while that is never the same for two.
"""

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
    """Make a commit, again as often as another one comes first."""
    tries = 1
    while True:
        try:
            return commit()
        except Exception as error:
            if tries == MAX_ATTEMPTS or not is_conflict(error):
                raise
            log.info("another commit to %s came first, this is tried again (%d)", table, tries)
        longest = min(_FIRST_PAUSE * 2**tries, _MAX_PAUSE)
        wait(random.uniform(longest / 4, longest))  # noqa: S311 - a pause
        tries += 1
