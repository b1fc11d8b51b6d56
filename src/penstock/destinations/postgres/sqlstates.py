"""The kinds of errors of Postgres by their SQLSTATE; on executors pickled by value, with only psycopg."""

from __future__ import annotations

import re
from typing import Final

import psycopg

QUERY_CANCELED: Final = "57014"
LOCK_NOT_AVAILABLE: Final = "55P03"
_SHUTDOWN: Final = "57P"
TRANSIENT_CLASSES: Final = frozenset(
    (
        "08",  # the connection was lost
        "40",  # the transaction was rolled back: a deadlock, or a conflict of serializable transactions
        "53",  # too many connections, no memory, disk full
        "57",  # the server shuts down or restarts, or a statement was cancelled
        "58",  # input and output of the server
    )
)
TRANSIENT_STATES: Final = frozenset(
    (
        LOCK_NOT_AVAILABLE,
        "55006",  # an object is in use
        "25006",  # the server is a standby
    )
)
CATALOG_INDEXES: Final = frozenset(
    ("pg_namespace_nspname_index", "pg_class_relname_nsp_index", "pg_type_typname_nsp_index")
)
"""Two loads may create the schema or the system tables of a dataset at the same time."""
# A connection that the server or its certificate refuses has no SQLSTATE; a retry is refused again.
_REFUSED_CONNECTION: Final = re.compile(
    r"certificate verify failed|root certificate file|server certificate for|authentication failed"
    r"|no pg_hba\.conf entry|server does not support SSL"
)
# The place of a value in COPY: `COPY staging, line 3, column price: "x"`. The value may be private.
_COPY_PLACE: Final = re.compile(r"^COPY .*?, line \d+, column (?P<column>[^:]+)")


def is_transient(error: psycopg.Error) -> bool:
    """Return whether the same statement may succeed later.

    >>> is_transient(psycopg.errors.DeadlockDetected()), is_transient(psycopg.errors.UndefinedTable())
    (True, False)
    """
    state = error.sqlstate
    if state is None:
        return isinstance(error, psycopg.OperationalError) and not _REFUSED_CONNECTION.search(str(error))
    is_race = error.diag.constraint_name in CATALOG_INDEXES
    return state[:2] in TRANSIENT_CLASSES or state in TRANSIENT_STATES or is_race


def describe(error: psycopg.Error, *, table: str | None = None) -> str:
    """Return the message of an error with table and column, but without values of rows."""
    diagnosis = error.diag
    place = _COPY_PLACE.match(diagnosis.context or "")
    column = place["column"] if place else diagnosis.column_name
    names = [name for name in (table or diagnosis.table_name, column) if name]
    where = f" for {'.'.join(names)}" if names else ""
    message = diagnosis.message_primary or " ".join(str(error).split())
    code = f" (SQLSTATE {error.sqlstate})" if error.sqlstate else ""
    event = "ended the connection" if (error.sqlstate or "").startswith(_SHUTDOWN) else "refused a statement"
    return f"Postgres {event}{where}: {message}{code}"
