"""The items that are still to be done, handed out wave by wave."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from penstock.extract.limit import LimitCounter
from penstock.extract.waves.driver import item_limit
from penstock.extract.waves.items import iter_work_items
from penstock.extract.waves.plan import MAX_BYTES

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator

    from penstock.extract.waves.items import WorkItem
    from penstock.interfaces.source import Stream


class Backlog:
    """Takes from what was declared as much as a wave needs, and never holds more than that."""

    def __init__(self, stream: Stream, *, done_counts: Counter[str]) -> None:
        limit = item_limit(stream)
        self._limit = LimitCounter(limit) if limit else None
        self._done_counts = done_counts
        self._items: Iterator[WorkItem] = (
            iter(()) if stream.work is None else iter_work_items(stream.work.items)
        )
        self._returned_items: deque[WorkItem] = deque()

    def take(self, max_items: int) -> list[WorkItem]:
        """The items of the next wave; none when all is done, or when there is enough."""
        taken: list[WorkItem] = []
        held = 0
        while len(taken) < max_items and held < MAX_BYTES:
            item = self._next_item()
            if item is None:
                break
            taken.append(item)
            held += item.size
        return taken

    def return_items(self, items: list[WorkItem]) -> None:
        """Items for which there was no time: they are first in the next wave."""
        self._returned_items.extend(items)

    def _next_item(self) -> WorkItem | None:
        if self._returned_items:
            return self._returned_items.popleft()
        # An item that an earlier run has done counts for the limit as if it were done now.
        while self._limit is None or self._limit.has_room():
            item = next(self._items, None)
            if item is None:
                return None
            if self._limit is not None:
                self._limit.count(item)
            if not self._done_counts[item.digest]:
                return item
            self._done_counts[item.digest] -= 1
        return None
