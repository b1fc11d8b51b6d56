"""Errors of Postgres as errors of penstock: transient and terminal ones."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import psycopg

from penstock.config import redact
from penstock.destinations.postgres.binary_copy import ValueNotStorable
from penstock.destinations.postgres.sqlstates import QUERY_CANCELED, describe, is_transient
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
_LOGIN_CLASSES: Final = frozenset(("28", "3D"))
_INSUFFICIENT_PRIVILEGE: Final = "42501"
_HINTS: Final = {
    "22": ROWS_HINT,
    "23": "correct the rows, or drop the constraint of the table",
    "42": "compare the table in Postgres with the schema of the pipeline: it may have been changed",
}
TIMEOUT_HINT: Final = "set a higher statement_timeout, or none, and run again"
_PRIVILEGE_HINT: Final = (
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
        hint = TIMEOUT_HINT if code == QUERY_CANCELED else RUN_AGAIN_HINT
        return DestinationTransientException(message, hint=hint)
    if code[:2] in _LOGIN_CLASSES:
        return DatabaseQueryFailed(database=DATABASE, reason=message)
    default = "correct the cause, and run again: nothing of the load is visible"
    hint = _PRIVILEGE_HINT if code == _INSUFFICIENT_PRIVILEGE else _HINTS.get(code[:2], default)
    return DestinationTerminalException(message, hint=hint)


def _connection_error(error: psycopg.OperationalError) -> PenstockError:
    """Return the error of a connection that was refused or lost, which has no SQLSTATE."""
    reason = redact(" ".join(str(error).split()))
    if "eof detected" in reason.lower():
        return DestinationTransientException(
            f"the connection to Postgres was lost: {reason}", hint=RUN_AGAIN_HINT
        )
    return database_error(DATABASE, reason)
