"""How many connections the tables of a source have together; they wait for them in the order they came."""

from __future__ import annotations

import threading
import time
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_POLL_INTERVAL: Final = 0.02


@dataclass(slots=True)
class ConnectionBudget:
    """Connections that are shared. One who needs many is not overtaken by those who need few."""

    limit: int
    _free: int = field(init=False)
    _waiting: deque[object] = field(default_factory=deque)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._free = self.limit

    @contextmanager
    def reserve(self, connections: int) -> Iterator[ConnectionReservation]:
        """For the time of a block; what was taken goes back, and a place in the row is given up."""
        one = ConnectionReservation(self, min(connections, self.limit))
        with self._lock:
            self._waiting.append(one)
        try:
            yield one
        finally:
            with self._lock:
                if one in self._waiting:
                    self._waiting.remove(one)
                else:
                    self._free += one.connections

    def try_acquire(self, reservation: ConnectionReservation) -> bool:
        """Take the connections, if it is one's turn and they are free."""
        with self._lock:
            if self._waiting[0] is not reservation or self._free < reservation.connections:
                return False
            self._waiting.popleft()
            self._free -= reservation.connections
            return True


@dataclass(frozen=True, slots=True, eq=False)
class ConnectionReservation:
    """One who waits for connections, or has them."""

    budget: ConnectionBudget
    connections: int

    def wait(self) -> Iterator[None]:
        """Nothing, again and again, until they are there: a resource that yields it lets others go on."""
        while not self.budget.try_acquire(self):
            time.sleep(_POLL_INTERVAL)
            yield None
