"""Capabilities of destinations, by the import path of dlt."""

from penstock.interfaces import (
    DestinationCapabilitiesContext,
    TLoaderFileFormat,
    TLoaderMergeStrategy,
    TLoaderParallelismStrategy,
    TLoaderReplaceStrategy,
    TTableFormat,
)

__all__ = [
    "DestinationCapabilitiesContext",
    "TLoaderFileFormat",
    "TLoaderMergeStrategy",
    "TLoaderParallelismStrategy",
    "TLoaderReplaceStrategy",
    "TTableFormat",
]
