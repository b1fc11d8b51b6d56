"""Declaration of sources, resources and transformers.

Input:   functions, generators, data and DataFrames of users.
Output:  lazy declarations, and the flows that extract reads.
Imports: interfaces, schema, config, errors.
"""

from typing import Any

from penstock.interfaces.incremental import Incremental as incremental  # noqa: N813 - dlt's name for it
from penstock.sources.backfill_windows import windows
from penstock.sources.factory import SourceFactory
from penstock.sources.flows import flows_of
from penstock.sources.resource import Resource
from penstock.sources.source import Source

DltResource = Resource
DltSource = Source
AnySourceFactory = SourceFactory
TDataItem = Any
"""A row or a frame."""
TDataItems = Any
"""A row, a page of rows, or a frame."""

__all__ = [
    "AnySourceFactory",
    "DltResource",
    "DltSource",
    "Resource",
    "Source",
    "SourceFactory",
    "TDataItem",
    "TDataItems",
    "flows_of",
    "incremental",
    "windows",
]
