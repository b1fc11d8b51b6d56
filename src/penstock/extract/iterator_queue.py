"""Whose turn it is: the taps that can be drawn from, and the order in which they are."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from penstock.extract.iterators import ItemIterator


class IteratorQueue:
    """Taps in waiting. Resources take turns, or are emptied one after the other."""

    __slots__ = ("_fifo", "_ready", "eager", "is_pausing")

    def __init__(self, iterators: Iterable[ItemIterator], *, fifo: bool) -> None:
        self._ready, self._fifo = deque(iterators), fifo
        self.eager: deque[ItemIterator] = deque()
        """Generators that transformers gave from threads: they go first, and hold up what feeds them."""
        self.is_pausing = False
        """Whether no resource is asked for another item; what came up on the way of one still is."""

    def __iter__(self) -> Iterator[ItemIterator]:
        yield from self._ready
        yield from self.eager

    @property
    def first(self) -> ItemIterator | None:
        """The one whose turn it is, if none goes before it and no pause is wanted."""
        return self._ready[0] if self._ready and not self.eager and not self.is_pausing else None

    @property
    def is_idle(self) -> bool:
        """Whether nothing is on its way: every resource waits to be asked for its next item."""
        return not self.eager and all(tap.is_root for tap in self._ready)

    def take(self) -> ItemIterator | None:
        """Take the one whose turn it is out of the row."""
        if not self.is_pausing:
            return self._ready.popleft() if self._ready else None
        found = next((tap for tap in self._ready if not tap.is_root), None)
        if found is not None:
            self._ready.remove(found)
        return found

    def put(self, iterator: ItemIterator) -> None:
        """Let a tap wait for its next turn."""
        if iterator.is_eager:
            self.eager.append(iterator)
        elif self._fifo:
            self._ready.appendleft(iterator)
        else:
            self._ready.append(iterator)

    def put_first(self, *iterators: ItemIterator) -> None:
        """Give taps the next turns, in this order."""
        for tap in reversed(iterators):
            (self.eager if tap.is_eager else self._ready).appendleft(tap)
