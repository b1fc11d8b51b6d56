"""Declaration of sources, resources and transformers.

Input:   functions, generators, data and DataFrames of users.
Output:  lazy declarations, and the flows that extract reads.
Imports: interfaces, schema, config, errors.
"""

from importlib import import_module
from typing import Any

from penstock.errors import UnknownSourceReference
from penstock.interfaces.incremental import Incremental as incremental  # noqa: N813 - dlt's name for it
from penstock.sources.backfill_windows import windows
from penstock.sources.factory import SourceFactory
from penstock.sources.flows import flows_of
from penstock.sources.resource import Resource
from penstock.sources.source import Source
from penstock.sources.source_reference import SourceReference

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
    "SourceReference",
    "TDataItem",
    "TDataItems",
    "UnknownSourceReference",
    "flows_of",
    "incremental",
    "windows",
]


def __getattr__(name: str) -> Any:
    """Import `config`, `credentials` or `helpers`, which needs an extra, at its first use."""
    if name in {"config", "credentials", "helpers"}:
        return import_module(f"penstock.sources.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
