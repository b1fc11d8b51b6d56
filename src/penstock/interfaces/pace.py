"""Minimum interval between calls. Also runs without penstock, on executors."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Pacer:
    """Lets one caller pass per interval.

    The first call waits too, because the last call of an earlier process is unknown. Missed intervals do not
    accumulate.
    """

    def __init__(
        self,
        interval: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._interval, self._clock, self._sleep = interval, clock, sleep
        self._lock = threading.Lock()
        self._last = clock()

    def wait(self) -> None:
        """Return when a call may be made."""
        with self._lock:
            # A sleep may end a little early.
            while (seconds := self._last + self._interval - self._clock()) > 0:
                self._sleep(seconds)
            self._last = self._clock()
