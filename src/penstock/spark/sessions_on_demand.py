"""The sessions of a pipeline, opened at their first use: a run of small tables starts no Spark."""

from __future__ import annotations

import threading
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, cast

from penstock.spark.deferred_session import DeferredSession

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from pyspark.sql import SparkSession

    from penstock.spark.deferred_session import SessionOutlook
    from penstock.spark.session import UserSession
    from penstock.spark.session_pool import SessionPool


class SessionsOnDemand:
    """The user's session, and a pool of others beside it, opened together by the first use of either."""

    def __init__(
        self,
        open_sessions: Callable[[], tuple[UserSession, SessionPool]],
        outlook: Callable[[], SessionOutlook],
    ) -> None:
        """`outlook` returns what is known of the sessions before they are open."""
        self._open_sessions, self._outlook = open_sessions, outlook
        self._sessions: tuple[UserSession, SessionPool] | None = None
        self._lock = threading.Lock()

    @property
    def is_open(self) -> bool:
        """Whether the sessions were used."""
        return self._sessions is not None

    @property
    def user(self) -> UserSession:
        """The user's session."""
        return self.opened()[0]

    def opened(self) -> tuple[UserSession, SessionPool]:
        """Return the user's session and the pool; open them if they are not open."""
        with self._lock:
            if self._sessions is None:
                self._sessions = self._open_sessions()
            return self._sessions

    def session(self) -> AbstractContextManager[SparkSession]:
        """Borrow a session of the pool for a block."""
        return self.opened()[1].session()

    @contextmanager
    def deferred_session(self) -> Iterator[SparkSession]:
        """Offer a session for a block, which is borrowed from the pool when it is first used."""
        with ExitStack() as stack:
            deferred = DeferredSession(lambda: stack.enter_context(self.session()), self._outlook)
            yield cast("SparkSession", deferred)

    @property
    def notes(self) -> list[str]:
        """Settings that the sessions refused."""
        return [] if self._sessions is None else self._sessions[1].notes

    def interrupt(self) -> None:
        """Cancel all jobs in the sessions of the pool."""
        if self._sessions is not None:
            self._sessions[1].interrupt()

    def close(self) -> None:
        """Close the sessions of the pool; a later use opens others."""
        if self._sessions is not None:
            self._sessions[1].close()
