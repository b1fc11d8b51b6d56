"""The exceptions of destinations under the names of `dlt.destinations.exceptions`."""

from __future__ import annotations

from penstock.errors import (
    DestinationTerminalException,
    DestinationTransientException,
    StorageNotReachable,
    TableNotFound,
)

DatabaseTerminalException = DestinationTerminalException
DatabaseTransientException = DestinationTransientException
DatabaseUndefinedRelation = TableNotFound
DestinationConnectionError = StorageNotReachable

__all__ = [
    "DatabaseTerminalException",
    "DatabaseTransientException",
    "DatabaseUndefinedRelation",
    "DestinationConnectionError",
]
