"""A session that is opened at its first use, and what is known of it before."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOutlook:
    """The facts about a session that are known before it is opened. Settings may be secret."""

    is_connect: bool
    conf: Mapping[str, str] = field(repr=False)


class DeferredSession:
    """A `SparkSession` that is opened when one of its attributes is first used.

    >>> opened = []
    >>> deferred = DeferredSession(lambda: opened.append("a session") or opened, lambda: None)
    >>> before = list(opened)
    >>> deferred.count("a session"), before
    (1, [])
    """

    def __init__(
        self, open_session: Callable[[], SparkSession], outlook: Callable[[], SessionOutlook]
    ) -> None:
        self._open_session, self._outlook = open_session, outlook
        self._session: SparkSession | None = None
        self._lock = threading.Lock()

    def outlook(self) -> SessionOutlook:
        """Return what is known of the session; it is not opened."""
        return self._outlook()

    def opened(self) -> SparkSession:
        """Return the session itself; open it if it is not open."""
        with self._lock:
            if self._session is None:
                self._session = self._open_session()
            return self._session

    def __getattr__(self, name: str) -> Any:
        return getattr(self.opened(), name)
