from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException

from penstock.errors import (
    CommitLost,
    DestinationAhead,
    DestinationTerminalException,
    DestinationTransientException,
    LoadClientTerminalException,
    LoadClientTransientException,
    MissingTableName,
    UsageError,
)
from penstock.load.worker import describe_error, is_terminal


@pytest.mark.parametrize(
    "error",
    [
        LoadClientTerminalException("closed"),
        DestinationTerminalException("closed"),
        UsageError("wrong"),
        MissingTableName(data_type="list"),
        DestinationAhead(table="t", sequence=1),
        AssertionError(),
        AnalysisException("no such column"),
    ],
)
def test_terminal_errors_are_recognized(error: Exception) -> None:
    assert is_terminal(error)


@pytest.mark.parametrize(
    "error",
    [
        LoadClientTransientException("busy"),
        DestinationTransientException("busy"),
        CommitLost(table="t", sequence=1),
        ConnectionError("refused"),
        KeyError("nobody knows"),
        TimeoutError(),
    ],
)
def test_unknown_errors_are_retryable(error: Exception) -> None:
    assert not is_terminal(error)


def test_an_error_is_described_with_its_type_and_without_secrets() -> None:
    assert describe_error(UsageError("the table is closed", hint="open it")) == "the table is closed"
    assert (
        describe_error(OSError("postgresql://ada:hush@db/x is gone"))
        == "OSError: postgresql://***@db/x is gone"
    )
