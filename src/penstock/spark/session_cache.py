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

_MAX_SESSIONS: Final = 8
ConfKey = frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class PooledSession:
    """A session, what it was told when it was made, and what it refused. Settings may be secret."""

    spark: SparkSession
    key: ConfKey = field(repr=False)
    conf: Mapping[str, str] = field(repr=False)
    notes: tuple[str, ...]


class SessionCache:
    """Sessions that nobody works in; the one that waits longest goes first, and all go with their Spark."""

    def __init__(self, max_sessions: int = _MAX_SESSIONS) -> None:
        self._idle: deque[PooledSession] = deque(maxlen=max_sessions)
        self._app_id = ""
        self._lock = threading.Lock()

    def pop(self, key: ConfKey, *, app_id: str) -> PooledSession | None:
        """One that was told the same, if there is one; `of` is the id of the Spark that runs."""
        with self._lock:
            self._clear_if_new_app(app_id)
            found = next((one for one in reversed(self._idle) if one.key == key), None)
            if found is not None:
                self._idle.remove(found)
            return found

    def put(self, session: PooledSession, *, app_id: str) -> None:
        """Let one wait, with the settings that it had when it was made."""
        now = session.spark.conf.getAll
        for name in now.keys() - session.conf.keys():
            session.spark.conf.unset(name)
        for name, value in session.conf.items():
            if now.get(name) != value:
                session.spark.conf.set(name, value)
        with self._lock:
            self._clear_if_new_app(app_id)
            self._idle.append(session)

    def _clear_if_new_app(self, app_id: str) -> None:
        """A process has one Spark at a time: sessions of an earlier one are of no use."""
        if self._app_id != app_id:
            self._idle.clear()
            self._app_id = app_id


SESSION_CACHE: Final = SessionCache()
