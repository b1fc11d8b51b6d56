"""The items that are still to be done, handed out wave by wave."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from penstock.extract.gate import Gate
from penstock.extract.waves.driver import item_limit
from penstock.extract.waves.items import items_of
from penstock.extract.waves.plan import MOST_BYTES

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator

    from penstock.extract.waves.items import Item
    from penstock.interfaces.source import Stream


class Backlog:
    """Takes from what was declared as much as a wave needs, and never holds more than that."""

    def __init__(self, stream: Stream, *, done: Counter[str]) -> None:
        limit = item_limit(stream)
        self._gate = Gate(limit) if limit else None
        self._done = done
        self._items: Iterator[Item] = iter(()) if stream.work is None else items_of(stream.work.items)
        self._back: deque[Item] = deque()

    def take(self, most: int) -> list[Item]:
        """The items of the next wave; none when all is done, or when there is enough."""
        taken: list[Item] = []
        held = 0
        while len(taken) < most and held < MOST_BYTES:
            item = self._next()
            if item is None:
                break
            taken.append(item)
            held += item.size
        return taken

    def give_back(self, items: list[Item]) -> None:
        """Items for which there was no time: they are first in the next wave."""
        self._back.extend(items)

    def _next(self) -> Item | None:
        if self._back:
            return self._back.popleft()
        # An item that an earlier run has done counts for the limit as if it were done now.
        while self._gate is None or self._gate.is_open():
            item = next(self._items, None)
            if item is None:
                return None
            if self._gate is not None:
                self._gate.count(item)
            if not self._done[item.digest]:
                return item
            self._done[item.digest] -= 1
        return None
