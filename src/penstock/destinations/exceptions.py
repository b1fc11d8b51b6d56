"""The exceptions of destinations under the names of `dlt.destinations.exceptions`."""

from __future__ import annotations

from penstock.errors import (
    CantExtractTablePrefix,
    DestinationException,
    DestinationTerminalException,
    DestinationTransientException,
    InvalidFilesystemLayout,
    JobNotFound,
    LoadClientJobFailed,
    LoadClientJobRetry,
    SchemaCorruptedException,
    StorageNotReachable,
    TableNotFound,
)

DatabaseException = DestinationException
DatabaseTerminalException = DestinationTerminalException
DatabaseTransientException = DestinationTransientException
DatabaseUndefinedRelation = TableNotFound
DestinationConnectionError = StorageNotReachable
DestinationUndefinedEntity = TableNotFound
LoadClientNotConnected = StorageNotReachable
LoadJobNotExistsException = JobNotFound
LoadJobTerminalException = LoadClientJobFailed
LoadJobTransientException = LoadClientJobRetry
MergeDispositionException = SchemaCorruptedException

__all__ = [
    "CantExtractTablePrefix",
    "DatabaseException",
    "DatabaseTerminalException",
    "DatabaseTransientException",
    "DatabaseUndefinedRelation",
    "DestinationConnectionError",
    "DestinationException",
    "DestinationTerminalException",
    "DestinationTransientException",
    "DestinationUndefinedEntity",
    "InvalidFilesystemLayout",
    "LoadClientNotConnected",
    "LoadJobNotExistsException",
    "LoadJobTerminalException",
    "LoadJobTransientException",
    "MergeDispositionException",
]
