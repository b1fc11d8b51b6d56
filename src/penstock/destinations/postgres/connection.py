"""Connections to Postgres by psycopg, and the limit of their number."""

from __future__ import annotations

import random
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any, Final

import psycopg
from psycopg import sql
from psycopg.raw_cursor import RawCursor
from sqlglot import exp

from penstock.config import logger, redact
from penstock.destinations.postgres.copy_task import open_connection
from penstock.destinations.postgres.errors import raised_as_own
from penstock.destinations.postgres.rows import arrow_table
from penstock.destinations.postgres.sqlstates import is_transient
from penstock.destinations.sql.connection import SqlConnection, SqlDatabase
from penstock.destinations.sql.dialect import identifier
from penstock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa

    from penstock.destinations.postgres.settings import PostgresConfiguration
    from penstock.destinations.sql.connection import Row
    from penstock.destinations.sql.dialect import DatasetNames, SqlDialect

_KEEPALIVES: Final = {
    "tcp_keepalives_idle": "60",
    "tcp_keepalives_interval": "10",
    "tcp_keepalives_count": "3",
}
"""After 90 seconds the server ends the session of a machine that is gone, and releases its locks."""
_CONNECT_PAUSES: Final = (0.25, 1.0)
_SUBQUERY: Final = "penstock_rows"
_NONCHARACTER: Final = "\ufdd0"
"""A code point that no text has."""
_LOG = logger("penstock.postgres")


class PostgresConnection(SqlConnection):
    """A connection with time zone UTC that commits each statement outside of `transaction`."""

    def __init__(self, native: psycopg.Connection[Any], dialect: SqlDialect) -> None:
        super().__init__(dialect)
        self._native = native

    @property
    def native(self) -> psycopg.Connection[Any]:
        """The connection of psycopg."""
        return self._native

    def query(self, query: exp.Query, values: Sequence[Any] = ()) -> list[Row]:
        """Return the rows of a query."""
        with raised_as_own(), RawCursor(self.native) as cursor:
            return cursor.execute(self.text(query), list(values) or None).fetchall()

    def query_rows(self, query: exp.Query | str, values: Mapping[str, Any] | None = None) -> pa.Table:
        """Return the rows of one query of a user, in a transaction that can change nothing."""
        text, parameters = self._bound(query, values or {})
        with raised_as_own(), self.native.transaction(), RawCursor(self.native) as cursor:
            cursor.execute("SET TRANSACTION READ ONLY")
            cursor.execute(text, parameters)
            if cursor.description is None:
                raise UsageError("this is not a query", hint="run statements by execute_sql, one by one")
            return arrow_table(cursor)

    def execute_text(self, statement: str, values: Mapping[str, Any] | None = None) -> None:
        """Run a statement of a user."""
        text, parameters = self._bound(statement, values or {})
        with raised_as_own(), RawCursor(self.native) as cursor:
            cursor.execute(text, parameters)

    def use(self, names: DatasetNames) -> None:
        """Let bare names of tables mean those of a dataset; other names are looked up in `public`."""
        path = sql.SQL("SET search_path TO {}, public").format(sql.Identifier(names.dataset))
        with raised_as_own():
            self.native.execute(path)

    def execute(self, statement: exp.Expression, values: Sequence[Any] = ()) -> int | None:
        """Run a statement; return the number of changed rows, None for statements that change no rows."""
        with raised_as_own(), RawCursor(self.native) as cursor:
            cursor.execute(self.text(statement), list(values) or None)
            return None if cursor.rowcount < 0 else cursor.rowcount

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run the statements of a block in one transaction; an error in the block rolls it back."""
        with raised_as_own(), self.native.transaction():
            yield

    def _bound(self, query: exp.Query | str, values: Mapping[str, Any]) -> tuple[bytes, list[Any] | None]:
        """Return a text with numbered placeholders, and the values in their order."""
        text = query if isinstance(query, str) else self.text(query).decode()
        for number, name in enumerate(values, start=1):
            text = text.replace(placeholder_of(name), f"${number}")
        return text.encode(), list(values.values()) or None

    def text(self, statement: exp.Expr) -> bytes:
        """Return the text of a statement; its placeholders are numbered in their order."""
        numbers = count(1)

        def complete(node: exp.Expr) -> exp.Expr:
            if isinstance(node, exp.Placeholder):
                return exp.Parameter(this=exp.Literal.number(next(numbers)))
            if isinstance(node, exp.Subquery) and isinstance(node.parent, exp.From) and not node.alias:
                # Before version 16 Postgres refuses a subquery without a name.
                node.set("alias", exp.TableAlias(this=identifier(_SUBQUERY)))
            return node

        return self.dialect.text(statement.transform(complete)).encode()


def placeholder_of(name: str) -> str:
    """Return the placeholder of a named value in a text, before placeholders are numbered."""
    return f"{_NONCHARACTER}{name}{_NONCHARACTER}"


@dataclass(slots=True)
class ConnectionLimit:
    """The connections that the clients of a destination have at the same time, with those of executors."""

    limit: int
    _free: int = field(init=False)
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def __post_init__(self) -> None:
        self._free = self.limit

    @contextmanager
    def acquire(self, most: int = 1, *, least: int = 1) -> Iterator[int]:
        """Wait for `least` free connections; take up to `most` for the block, and yield their number."""
        with self._changed:
            self._changed.wait_for(lambda: self._free >= least)
            number = min(most, self._free)
            self._free -= number
        try:
            yield number
        finally:
            with self._changed:
                self._free += number
                self._changed.notify_all()


class PostgresDatabase(SqlDatabase):
    """A database of Postgres with the login of one client."""

    def __init__(self, config: PostgresConfiguration, dialect: SqlDialect, limit: ConnectionLimit) -> None:
        super().__init__(dialect)
        self.config, self.limit = config, limit
        if not config.credentials.is_verified:
            _LOG.warning("the connection to the database does not verify the server: %s", config)

    @property
    def session_settings(self) -> dict[str, str]:
        """The settings of each session by their names in Postgres; times are in milliseconds."""
        timeouts = {
            "statement_timeout": self.config.statement_timeout,
            "lock_timeout": self.config.lock_timeout,
        }
        limits = {name: f"{round(seconds * 1000)}" for name, seconds in timeouts.items() if seconds}
        return {"TimeZone": "UTC", **_KEEPALIVES, **limits}

    @contextmanager
    def connect(self) -> Iterator[PostgresConnection]:
        """Open a connection for a block."""
        with self.limit.acquire():
            with raised_as_own():
                native = self._open()
            with native:
                yield PostgresConnection(native, self.dialect)

    def _open(self) -> psycopg.Connection[Any]:
        """Open a connection; try again for a moment while the server or the network refuses it."""
        parameters, settings = self.config.credentials.parameters(), self.session_settings
        for pause in _CONNECT_PAUSES:
            try:
                return open_connection(parameters, settings)
            except psycopg.Error as error:
                if not is_transient(error):
                    raise
                _LOG.info("connecting to %s is tried again: %s", self.config, redact(str(error)))
            time.sleep(random.uniform(pause / 2, pause))  # noqa: S311 - a pause
        return open_connection(parameters, settings)

    def begin_load(self, connection: SqlConnection, names: DatasetNames, pipeline_name: str) -> None:
        """Lock the pipeline until the end of the transaction, also against processes without its lease."""
        key = exp.func("hashtextextended", exp.Placeholder(), exp.Literal.number(0))
        lock = exp.select(exp.func("pg_advisory_xact_lock", key))
        connection.query(lock, [f"penstock/{names.dataset}/{pipeline_name}"])
