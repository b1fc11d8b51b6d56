"""What destinations with tables raise, by the names that programs for dlt catch.

`dlt.destinations.exceptions` has these names. Both they and ours mean one class.
"""

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
