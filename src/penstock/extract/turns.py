"""Whose turn it is: the taps that can be drawn from, and the order in which they are."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from penstock.extract.taps import Tap


class Turns:
    """Taps in waiting. Resources take turns, or are emptied one after the other."""

    __slots__ = ("_fifo", "_ready", "eager", "is_pausing")

    def __init__(self, taps: Iterable[Tap], *, fifo: bool) -> None:
        self._ready, self._fifo = deque(taps), fifo
        self.eager: deque[Tap] = deque()
        """Generators that transformers gave from threads: they go first, and hold up what feeds them."""
        self.is_pausing = False
        """Whether no resource is asked for another item; what came up on the way of one still is."""

    def __iter__(self) -> Iterator[Tap]:
        yield from self._ready
        yield from self.eager

    @property
    def first(self) -> Tap | None:
        """The one whose turn it is, if none goes before it and no pause is wanted."""
        return self._ready[0] if self._ready and not self.eager and not self.is_pausing else None

    @property
    def is_quiet(self) -> bool:
        """Whether nothing is on its way: every resource waits to be asked for its next item."""
        return not self.eager and all(tap.is_root for tap in self._ready)

    def take(self) -> Tap | None:
        """Take the one whose turn it is out of the row."""
        if not self.is_pausing:
            return self._ready.popleft() if self._ready else None
        found = next((tap for tap in self._ready if not tap.is_root), None)
        if found is not None:
            self._ready.remove(found)
        return found

    def put(self, tap: Tap) -> None:
        """Let a tap wait for its next turn."""
        if tap.is_eager:
            self.eager.append(tap)
        elif self._fifo:
            self._ready.appendleft(tap)
        else:
            self._ready.append(tap)

    def put_first(self, *taps: Tap) -> None:
        """Give taps the next turns, in this order."""
        for tap in reversed(taps):
            (self.eager if tap.is_eager else self._ready).appendleft(tap)
