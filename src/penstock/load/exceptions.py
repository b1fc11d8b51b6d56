"""What a load raises, by the names that programs for dlt catch: those of `dlt.load.exceptions`.

Where penstock has another name for the same, both mean one class.
"""

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
