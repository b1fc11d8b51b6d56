"""Counts what passes, and says when it is enough."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.interfaces.source import Limit


class LimitCounter:
    """The limit of one resource while it is read."""

    __slots__ = ("_clock", "_count", "_deadline", "_limit")

    def __init__(self, limit: Limit, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit, self._clock, self._count = limit, clock, 0
        self._deadline: float | None = None

    def has_room(self) -> bool:
        """Whether there is room for another item. The time begins to run with the first call."""
        if self._deadline is None and self._limit.max_time is not None:
            self._deadline = self._clock() + self._limit.max_time
        most = self._limit.max_items
        return (most is None or self._count < most) and (
            self._deadline is None or self._clock() < self._deadline
        )

    def count(self, item: Any) -> None:
        """Take note of an item that has passed. A page counts as one, unless rows are counted."""
        self._count += _row_count(item) if self._limit.count_rows else 1


def _row_count(item: Any) -> int:
    """Rows of a page or a frame; anything else is one row."""
    if isinstance(item, (dict, str, bytes)) or not hasattr(item, "__len__"):
        return 1
    return len(item)
