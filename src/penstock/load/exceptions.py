"""The exceptions of a load under the names of `dlt.load.exceptions`, for programs that catch those."""

from __future__ import annotations

from penstock.errors import (
    FollowupJobCreationFailedException,
    LoadClientJobFailed,
    LoadClientJobRetry,
    LoadClientUnsupportedFileFormats,
    LoadClientUnsupportedWriteDisposition,
    LoadPackageAborted,
    TableChainFollowupJobCreationFailedException,
)

LoadClientJobTerminalRetry = LoadClientJobFailed

__all__ = [
    "FollowupJobCreationFailedException",
    "LoadClientJobFailed",
    "LoadClientJobRetry",
    "LoadClientJobTerminalRetry",
    "LoadClientUnsupportedFileFormats",
    "LoadClientUnsupportedWriteDisposition",
    "LoadPackageAborted",
    "TableChainFollowupJobCreationFailedException",
]
