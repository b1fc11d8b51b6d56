"""Errors of Postgres as errors of penstock: transient and terminal ones."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import psycopg

from penstock.config import redact
from penstock.destinations.postgres.binary_copy import ValueNotStorable
from penstock.destinations.postgres.sqlstates import (
    LOCK_NOT_AVAILABLE,
    QUERY_CANCELED,
    describe,
    is_transient,
)
from penstock.errors import (
    DatabaseQueryFailed,
    DestinationTerminalException,
    DestinationTransientException,
    PenstockError,
)
from penstock.spark.database_errors import database_error

if TYPE_CHECKING:
    from collections.abc import Iterator

DATABASE: Final = "postgresql"
ROWS_HINT: Final = "correct the rows, or declare another type: apply_hints(columns={...})"
RUN_AGAIN_HINT: Final = "run again: the sealed package continues where it stopped, and loads nothing twice"
_CONNECT_HINT: Final = (
    "check host and port of the credentials, the network, and whether the server runs and has a connection "
    "left; then run again: a load that has begun continues where it stopped"
)
_UNREACHABLE: Final = re.compile(r"connection to server at|failed to resolve host")
_TRANSIENT: Final = re.compile(r"eof detected|failed to resolve host", re.IGNORECASE)
_NOISE: Final = re.compile(
    r"^connection failed: |^consuming input failed: "
    r"| This probably means the server terminated abnormally before or while processing the request\."
)
_LOGIN_CLASSES: Final = frozenset(("28", "3D"))
_INSUFFICIENT_PRIVILEGE: Final = "42501"
_HINTS: Final = {
    "22": ROWS_HINT,
    "23": "correct the rows, or drop the constraint of the table",
    "42": "compare the table in Postgres with the schema of the pipeline: it may have been changed",
}
TIMEOUT_HINT: Final = "set a higher statement_timeout, or none, and run again"
_TRANSIENT_HINTS: Final = {
    QUERY_CANCELED: TIMEOUT_HINT,
    LOCK_NOT_AVAILABLE: "another session has locked a table: wait for it, or set a higher lock_timeout, and "
    "run again",
}
PRIVILEGE_HINT: Final = (
    "grant CREATE on the database to the user of the credentials, and make it the owner of the schema"
)


@contextmanager
def raised_as_own(table: str | None = None) -> Iterator[None]:
    """Raise errors of psycopg in a block as errors of penstock; `table` is the one that gets the rows."""
    try:
        yield
    except psycopg.Error as error:
        raise as_own_error(error, table=table) from error
    except ValueNotStorable as error:
        place = f"{table}.{error.column}" if table else error.column
        raise DestinationTerminalException(f"{place}: {error.reason}", hint=ROWS_HINT) from error


def as_own_error(error: psycopg.Error, *, table: str | None = None) -> PenstockError:
    """Return the error of penstock; its text has no values of rows."""
    state = error.sqlstate
    if state is None and isinstance(error, psycopg.OperationalError):
        return _connection_error(error)
    message, code = redact(describe(error, table=table)), state or ""
    if is_transient(error):
        return DestinationTransientException(message, hint=_TRANSIENT_HINTS.get(code, RUN_AGAIN_HINT))
    if code[:2] in _LOGIN_CLASSES:
        return DatabaseQueryFailed(database=DATABASE, reason=message)
    default = "correct the cause, and run again: nothing of the load is visible"
    hint = PRIVILEGE_HINT if code == _INSUFFICIENT_PRIVILEGE else _HINTS.get(code[:2], default)
    return DestinationTerminalException(message, hint=hint)


def _connection_error(error: psycopg.OperationalError) -> PenstockError:
    """Return the error of a connection that was refused or lost, which has no SQLSTATE."""
    reason = redact(_NOISE.sub("", " ".join(str(error).split())))
    other = database_error(DATABASE, reason)
    if isinstance(other, DatabaseQueryFailed) and not _TRANSIENT.search(reason):
        return other
    if _UNREACHABLE.search(reason):
        return DestinationTransientException(f"Postgres cannot be reached: {reason}", hint=_CONNECT_HINT)
    return DestinationTransientException(
        f"the connection to Postgres{_server(error)} was lost: {reason}", hint=RUN_AGAIN_HINT
    )


def _server(error: psycopg.Error) -> str:
    """Return where the server of a lost connection is, if that is known."""
    try:
        connection = error.pgconn
        return f" at {connection.host.decode()}:{connection.port.decode()}" if connection else ""
    except psycopg.OperationalError:
        return ""  # the connection is closed
