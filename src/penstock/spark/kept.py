"""Sessions of our own that wait for the next run.

A session opens the catalogs that it knows, and a catalog in a database holds connections that nothing but the
JVM's garbage collector closes. So runs that follow each other work in the same sessions.
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

_MOST: Final = 8
Key = frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class OwnSession:
    """A session, what it was told when it was made, and what it refused."""

    spark: SparkSession
    key: Key
    conf: Mapping[str, str]
    notes: tuple[str, ...]


class KeptSessions:
    """Sessions that nobody works in, for each Spark that runs; the one that waits longest goes first."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._waiting: WeakKeyDictionary[Any, deque[OwnSession]] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def take(self, key: Key, *, of: object) -> OwnSession | None:
        """One that was told the same, if there is one."""
        with self._lock:
            waiting = self._waiting.get(of, ())
            found = next((one for one in reversed(waiting) if one.key == key), None)
            if found is not None:
                self._waiting[of].remove(found)
            return found

    def keep(self, session: OwnSession, *, of: object) -> None:
        """Let one wait, with the settings that it had when it was made."""
        now = session.spark.conf.getAll
        for name in now.keys() - session.conf.keys():
            session.spark.conf.unset(name)
        for name, value in session.conf.items():
            if now.get(name) != value:
                session.spark.conf.set(name, value)
        with self._lock:
            self._waiting.setdefault(of, deque(maxlen=self._most)).append(session)


KEPT: Final = KeptSessions()
