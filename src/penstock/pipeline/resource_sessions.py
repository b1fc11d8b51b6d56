"""Sessions that resources make DataFrames with: lent when they are asked for, and kept to the end."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING

from penstock.spark.session import is_connect

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import SparkSession

    from penstock.spark.session_pool import SessionPool
    from penstock.spark.watch import SparkWatch


class ResourceSessions:
    """One session for each thing that a session is told; generators and threads share it."""

    def __init__(self, pool: Callable[[Mapping[str, str]], SessionPool], watch: SparkWatch) -> None:
        self._open_pool, self._watch = pool, watch
        self._sessions: dict[frozenset[tuple[str, str]], SparkSession] = {}
        self._pools: list[SessionPool] = []
        self._stack, self._lock = ExitStack(), threading.Lock()

    def session(self, conf: Mapping[str, str]) -> SparkSession:
        """The session that was told this."""
        key = frozenset(conf.items())
        with self._lock:
            if key not in self._sessions:
                self._sessions[key] = self._open_session(conf)
            return self._sessions[key]

    def _open_session(self, conf: Mapping[str, str]) -> SparkSession:
        pool = self._open_pool(conf)
        self._pools.append(pool)
        self._stack.callback(pool.close)
        spark = self._stack.enter_context(pool.session())
        if is_connect(spark):
            # Jobs of a classic session are told apart by the thread that lands its frames.
            self._stack.enter_context(self._watch.track(spark))
        return spark

    def interrupt(self) -> None:
        """Stop what runs in these sessions."""
        for pool in self._pools:
            pool.interrupt()

    def close(self) -> None:
        """Take the sessions back."""
        with self._lock:
            self._sessions.clear()
            self._pools.clear()
            self._stack.close()
