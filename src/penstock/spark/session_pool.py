"""A pool of separate sessions, so that the conf, views and catalog of the user are unchanged."""

from __future__ import annotations

import threading
from collections import deque
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from penstock.config import logger, redact
from penstock.errors import SessionChangesText
from penstock.spark.presets import LOCAL_CONF, OWN_CONF, SQL_TEXT_CONF, preset
from penstock.spark.sqltext import check_text_conf

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

    from penstock.spark.session import UserSession
    from penstock.spark.watch import SparkWatch


_MAX_SESSIONS: Final = 8
ConfKey = frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class PooledSession:
    """A session, its settings when created, and the settings that it refused. Settings may be secret."""

    spark: SparkSession
    key: ConfKey = field(repr=False)
    conf: Mapping[str, str] = field(repr=False)
    notes: tuple[str, ...]


class SessionCache:
    """Idle sessions by their settings; the oldest is reused first, all are dropped when their Spark stops."""

    def __init__(self, max_sessions: int = _MAX_SESSIONS) -> None:
        self._idle: deque[PooledSession] = deque(maxlen=max_sessions)
        self._app_id = ""
        self._lock = threading.Lock()

    def pop(self, key: ConfKey, *, app_id: str) -> PooledSession | None:
        """Return an idle session with the same settings, if any; `of` is the id of the running Spark."""
        with self._lock:
            self._clear_if_new_app(app_id)
            pooled = next((candidate for candidate in reversed(self._idle) if candidate.key == key), None)
            if pooled is not None:
                self._idle.remove(pooled)
            return pooled

    def put(self, session: PooledSession, *, app_id: str) -> None:
        """Add an idle session with its settings when created."""
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
        """Drop the sessions of another Spark: a process has one at a time."""
        if self._app_id != app_id:
            self._idle.clear()
            self._app_id = app_id


SESSION_CACHE: Final = SessionCache()


LOG = logger("penstock.spark")
# Commits of penstock must not carry the user's commit metadata or go to the user's branch.
_EXCLUDED_CONF_PREFIXES = (
    "spark.databricks.delta.write.",
    "spark.sql.iceberg.snapshot-property.",
    "spark.wap.",
)


class SessionPool:
    """A pool of sessions: each is lent to one worker at a time, and all are closed at the end."""

    def __init__(
        self,
        user: UserSession,
        needs: tuple[str, ...],
        conf: Mapping[str, str] | None = None,
        watch: SparkWatch | None = None,
    ) -> None:
        """`conf` are additional settings of these sessions, possibly secret. `watch` tracks their jobs."""
        self._watch = watch
        self._user, self._needs, self._extra_conf = user, needs, conf or {}
        self._free: list[PooledSession] = []
        self._created: list[SparkSession] = []
        self._lock = threading.Lock()
        self.notes: list[str] = []

    @contextmanager
    def session(self) -> Iterator[SparkSession]:
        """Lend a session within a block; conf that the block sets is kept in the session."""
        with self._lock:
            pooled = self._free.pop() if self._free else self._acquire()
        try:
            with self._watch.track(pooled.spark) if self._watch is not None else nullcontext():
                yield pooled.spark
        finally:
            with self._lock:
                self._free.append(pooled)

    def interrupt(self) -> None:
        """Cancel all jobs in the pool's sessions; not those in the user's session."""
        with self._lock:
            created = list(self._created)
        for spark in created:
            spark.interruptAll()

    def close(self) -> None:
        """Close the sessions.

        A clone on a server exists until it is released; classic sessions are kept for the next run.
        """
        with self._lock:
            for pooled in self._free:
                if not self._user.is_connect:
                    self._cache(pooled)
                elif pooled.spark is not self._user.spark:
                    _release(pooled.spark)
            self._free.clear()
            self._created.clear()

    def _acquire(self) -> PooledSession:
        if self._user.is_connect:
            pooled = self._configure(self._clone_session(), frozenset())
        else:
            key = frozenset((self._user.spark.conf.getAll | self._conf()).items())
            cached = SESSION_CACHE.pop(key, app_id=_app_id(self._user.spark))
            pooled = cached or self._configure(self._new_session(), key)
        if pooled.spark is not self._user.spark:
            self._created.append(pooled.spark)
        for note in pooled.notes:
            self._add_note(note)
        return pooled

    def _cache(self, pooled: PooledSession) -> None:
        try:
            SESSION_CACHE.put(pooled, app_id=_app_id(self._user.spark))
        except (PySparkException, Py4JError, OSError) as error:
            # Spark was stopped or died: the session is not usable again.
            LOG.debug("a session is not cached: %s", error)

    def _configure(self, spark: SparkSession, key: ConfKey) -> PooledSession:
        conf = self._conf()
        if spark is self._user.spark:
            # Settings that affect the user's own SQL are not changed.
            conf = {name: value for name, value in conf.items() if name not in SQL_TEXT_CONF}
        refused = [(name, value) for name, value in conf.items() if not _try_set(spark, name, value)]
        _check_text_conf(spark)
        notes = tuple(redact(f"the session refuses {name}={value}") for name, value in refused)
        return PooledSession(spark, key, {} if self._user.is_connect else spark.conf.getAll, notes)

    def _new_session(self) -> SparkSession:
        user = self._user.spark
        spark = user.newSession()
        # A new session starts with defaults: copy the user's runtime settings (catalogs, fs.* keys).
        user_conf, fresh = user.conf.getAll, spark.conf.getAll
        for key, value in user_conf.items():
            if fresh.get(key) != value and not key.startswith(_EXCLUDED_CONF_PREFIXES):
                _try_set(spark, key, value)
        return spark

    def _clone_session(self) -> SparkSession:
        user = self._user.spark
        if not hasattr(user, "cloneSession"):
            self._add_note("this Spark Connect client cannot clone sessions: penstock uses the given session")
            return user
        # A session without a request does not exist on the server yet and cannot be cloned.
        user.conf.get("spark.sql.session.timeZone")
        spark: SparkSession = user.cloneSession()
        _disable_close(spark)
        for key in spark.conf.getAll:
            if key.startswith(_EXCLUDED_CONF_PREFIXES):
                spark.conf.unset(key)
        return spark

    def _conf(self) -> dict[str, str]:
        conf = dict(OWN_CONF)
        if self._user.is_local:
            conf |= LOCAL_CONF
        for need in self._needs:
            conf |= preset(self._user.spark.version, need).session_conf
        return {**conf, **self._extra_conf}

    def _add_note(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)


def _app_id(spark: SparkSession) -> str:
    return spark.conf.get("spark.app.id", None) or ""


def _try_set(spark: SparkSession, key: str, value: str) -> bool:
    try:
        # Connect warns at every use of a deprecated setting.
        if key not in SQL_TEXT_CONF or spark.conf.get(key) != value:
            spark.conf.set(key, value)
    except PySparkException:
        return False
    return True


def _check_text_conf(spark: SparkSession) -> None:
    try:
        check_text_conf(spark)
    except PySparkException as error:
        # some platforms deny reading the settings
        raise SessionChangesText(setting=", ".join(SQL_TEXT_CONF), value=None) from error


def _disable_close(spark: SparkSession) -> None:
    """Keep a reference to the client of a clone, so that it is not closed by garbage collection.

    Its finalizer shuts down a thread pool that all clients of the process share, and waits for it. Garbage
    collection may run in a call that holds the pool, which would deadlock. `_release` ends the session on
    the server; the connection is closed with the object.
    """
    connected: Any = spark
    connected.client.close = lambda: None


def _release(spark: SparkSession) -> None:
    # Not `stop`: it would close what all clients of this process share, and a local server with it.
    connected: Any = spark
    connected.client.release_session()
