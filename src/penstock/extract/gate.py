"""Counts what passes, and says when it is enough."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.interfaces.source import Limit


class Gate:
    """The limit of one resource while it is read."""

    __slots__ = ("_clock", "_count", "_limit", "_until")

    def __init__(self, limit: Limit, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit, self._clock, self._count = limit, clock, 0
        self._until: float | None = None

    def is_open(self) -> bool:
        """Whether there is room for another item. The time begins to run with the first call."""
        if self._until is None and self._limit.max_time is not None:
            self._until = self._clock() + self._limit.max_time
        most = self._limit.max_items
        return (most is None or self._count < most) and (self._until is None or self._clock() < self._until)

    def count(self, item: Any) -> None:
        """Take note of an item that has passed. A page counts as one, unless rows are counted."""
        self._count += _rows(item) if self._limit.count_rows else 1


def _rows(item: Any) -> int:
    """Rows of a page or a frame; anything else is one row."""
    if isinstance(item, (dict, str, bytes)) or not hasattr(item, "__len__"):
        return 1
    return len(item)
