"""Sessions of our own that wait for the next run.

A session opens the catalogs that it knows, and a catalog in a database holds connections that nothing but the
JVM's garbage collector closes. So runs that follow each other work in the same sessions.
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

_MOST: Final = 8
Key = frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class OwnSession:
    """A session, what it was told when it was made, and what it refused. Settings may be secret."""

    spark: SparkSession
    key: Key = field(repr=False)
    conf: Mapping[str, str] = field(repr=False)
    notes: tuple[str, ...]


class KeptSessions:
    """Sessions that nobody works in; the one that waits longest goes first, and all go with their Spark."""

    def __init__(self, most: int = _MOST) -> None:
        self._waiting: deque[OwnSession] = deque(maxlen=most)
        self._of = ""
        self._lock = threading.Lock()

    def reuse(self, key: Key, *, of: str) -> OwnSession | None:
        """One that was told the same, if there is one; `of` is the id of the Spark that runs."""
        with self._lock:
            self._meet(of)
            found = next((one for one in reversed(self._waiting) if one.key == key), None)
            if found is not None:
                self._waiting.remove(found)
            return found

    def keep(self, session: OwnSession, *, of: str) -> None:
        """Let one wait, with the settings that it had when it was made."""
        now = session.spark.conf.getAll
        for name in now.keys() - session.conf.keys():
            session.spark.conf.unset(name)
        for name, value in session.conf.items():
            if now.get(name) != value:
                session.spark.conf.set(name, value)
        with self._lock:
            self._meet(of)
            self._waiting.append(session)

    def _meet(self, of: str) -> None:
        """A process has one Spark at a time: sessions of an earlier one are of no use."""
        if self._of != of:
            self._waiting.clear()
            self._of = of


KEPT: Final = KeptSessions()
