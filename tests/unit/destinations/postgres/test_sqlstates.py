"""Errors of Postgres are transient or terminal by their SQLSTATE."""

from __future__ import annotations

import psycopg
import pytest
from psycopg import errors

from penstock.config import remember_secret
from penstock.destinations.postgres.errors import as_own_error
from penstock.destinations.postgres.sqlstates import is_transient
from penstock.errors import (
    DatabaseQueryFailed,
    DestinationTerminalException,
    DestinationTransientException,
    PenstockError,
)


@pytest.mark.parametrize(
    ("error", "own"),
    [
        (errors.DeadlockDetected("deadlock detected"), DestinationTransientException),
        (errors.SerializationFailure("could not serialize access"), DestinationTransientException),
        (errors.TooManyConnections("too many clients"), DestinationTransientException),
        (errors.AdminShutdown("terminating connection"), DestinationTransientException),
        (errors.QueryCanceled("canceling statement due to statement timeout"), DestinationTransientException),
        (errors.LockNotAvailable("canceling statement due to lock timeout"), DestinationTransientException),
        (errors.DiskFull("could not extend file"), DestinationTransientException),
        (errors.StringDataRightTruncation("value too long"), DestinationTerminalException),
        (errors.UniqueViolation("duplicate key"), DestinationTerminalException),
        (errors.UndefinedColumn("column does not exist"), DestinationTerminalException),
        (errors.InsufficientPrivilege("permission denied"), DestinationTerminalException),
        (errors.InvalidPassword("password authentication failed"), DatabaseQueryFailed),
        (errors.InvalidCatalogName("database does not exist"), DatabaseQueryFailed),
        (psycopg.OperationalError("connection refused"), DestinationTransientException),
        (
            psycopg.OperationalError("server closed the connection unexpectedly"),
            DestinationTransientException,
        ),
        (psycopg.OperationalError("SSL SYSCALL error: EOF detected"), DestinationTransientException),
        (psycopg.OperationalError("FATAL: password authentication failed"), DatabaseQueryFailed),
    ],
)
def test_an_error_is_transient_or_terminal(error: psycopg.Error, own: type[PenstockError]) -> None:
    assert type(as_own_error(error)) is own


@pytest.mark.parametrize(
    ("text", "is_refused"),
    [
        ("connection failed: SSL error: certificate verify failed", True),
        ('connection failed: FATAL:  password authentication failed for user "ada"', True),
        ("connection failed: FATAL:  no pg_hba.conf entry for host", True),
        ("connection failed: server closed the connection unexpectedly", False),
        ("connection failed: Connection refused", False),
    ],
)
def test_a_refused_login_is_not_tried_again_by_executors(text: str, *, is_refused: bool) -> None:
    error = psycopg.OperationalError(text)

    assert is_transient(error) is not is_refused
    assert isinstance(as_own_error(error), DatabaseQueryFailed) is is_refused


def test_a_refused_certificate_names_the_settings_of_tls() -> None:
    error = as_own_error(psycopg.OperationalError("SSL error: certificate verify failed"))

    assert "sslrootcert" in error.hint


def test_secrets_are_masked() -> None:
    remember_secret("hunter2222")

    error = as_own_error(psycopg.OperationalError("invalid password hunter2222"))

    assert "hunter2222" not in str(error)
