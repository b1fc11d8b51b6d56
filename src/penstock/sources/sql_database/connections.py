"""The budget of connections that the tables of a source share, in first-come order."""

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
    """A fair semaphore: a request for many connections is not overtaken by requests for few."""

    limit: int
    _free: int = field(init=False)
    _waiting: deque[object] = field(default_factory=deque)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._free = self.limit

    @contextmanager
    def reserve(self, connections: int) -> Iterator[ConnectionReservation]:
        """Queue a reservation for the block; at its end, release the connections or leave the queue."""
        reservation = ConnectionReservation(self, min(connections, self.limit))
        with self._lock:
            self._waiting.append(reservation)
        try:
            yield reservation
        finally:
            with self._lock:
                if reservation in self._waiting:
                    self._waiting.remove(reservation)
                else:
                    self._free += reservation.connections

    def try_acquire(self, reservation: ConnectionReservation) -> bool:
        """Take the connections if the reservation is first in the queue and they are free."""
        with self._lock:
            if self._waiting[0] is not reservation or self._free < reservation.connections:
                return False
            self._waiting.popleft()
            self._free -= reservation.connections
            return True


@dataclass(frozen=True, slots=True, eq=False)
class ConnectionReservation:
    """A request for connections, queued or granted."""

    budget: ConnectionBudget
    connections: int

    def wait(self) -> Iterator[None]:
        """Yield None until the connections are granted, so that a resource does not block others."""
        while not self.budget.try_acquire(self):
            time.sleep(_POLL_INTERVAL)
            yield None
