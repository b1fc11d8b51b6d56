"""The exceptions of a load under the names of `dlt.load.exceptions`, for programs that catch those."""

from __future__ import annotations

from penstock.errors import (
    DestinationException,
    DestinationTerminalException,
    DestinationTransientException,
    FollowupJobCreationFailedException,
    LoadClientJobFailed,
    LoadClientJobRetry,
    LoadClientUnsupportedFileFormats,
    LoadClientUnsupportedWriteDisposition,
    LoadPackageAborted,
    TableChainFollowupJobCreationFailedException,
)

LoadClientJobException = DestinationException
LoadClientJobTerminalRetry = LoadClientJobFailed

__all__ = [
    "DestinationTerminalException",
    "DestinationTransientException",
    "FollowupJobCreationFailedException",
    "LoadClientJobException",
    "LoadClientJobFailed",
    "LoadClientJobRetry",
    "LoadClientJobTerminalRetry",
    "LoadClientUnsupportedFileFormats",
    "LoadClientUnsupportedWriteDisposition",
    "LoadPackageAborted",
    "TableChainFollowupJobCreationFailedException",
]
