"""Exceptions of destinations under the names of dlt.

The names are those of `dlt.common.destination.exceptions`; the two `LoadClient…Exception` are those of the
reference page. A name of dlt for an error with another name here is an alias; a name for an error that
penstock does not raise is `NeverRaised`.
"""

from __future__ import annotations

from penstock.errors import (
    DestinationException,
    DestinationHasFailedJobs,
    DestinationTerminalException,
    DestinationTransientException,
    IdentifierTooLongException,
    LoadClientTerminalException,
    LoadClientTransientException,
    LoadClientUnsupportedFileFormats,
    NeverRaised,
    SqlClientNotAvailable,
    TableNotFound,
    UnknownDestination,
    UnsupportedColumnType,
)

DestinationIncompatibleLoaderFileFormatException = LoadClientUnsupportedFileFormats
DestinationInvalidFileFormat = NeverRaised
DestinationLoadingViaStagingNotSupported = NeverRaised
DestinationNoStagingMode = NeverRaised
DestinationSchemaTampered = NeverRaised
DestinationUndefinedEntity = TableNotFound
FSClientNotAvailable = NeverRaised
SchemaUpdateError = NeverRaised
UnknownDestinationModule = UnknownDestination
UnsupportedDataType = UnsupportedColumnType

__all__ = [
    "DestinationException",
    "DestinationHasFailedJobs",
    "DestinationIncompatibleLoaderFileFormatException",
    "DestinationInvalidFileFormat",
    "DestinationLoadingViaStagingNotSupported",
    "DestinationNoStagingMode",
    "DestinationSchemaTampered",
    "DestinationTerminalException",
    "DestinationTransientException",
    "DestinationUndefinedEntity",
    "FSClientNotAvailable",
    "IdentifierTooLongException",
    "LoadClientTerminalException",
    "LoadClientTransientException",
    "SchemaUpdateError",
    "SqlClientNotAvailable",
    "UnknownDestinationModule",
    "UnsupportedDataType",
]
