"""What destinations raise, by the names that programs for dlt catch.

`dlt.common.destination.exceptions` has these names; the two `LoadClient…Exception` are those of the reference
page. Where penstock has another name for the same, both mean one class; a name for what cannot happen here
means `NeverRaised`.
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
