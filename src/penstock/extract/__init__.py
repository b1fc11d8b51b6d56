"""Extraction: the items of resources are written as files of a package.

Input:   resources.
Output:  Parquet part files, with rows as JSON text and frames typed, on storage as they are read.
Imports: package, interfaces, errors.
"""

from penstock.interfaces.incremental import Incremental
from penstock.sources import DltResource, DltSource, SourceFactory
from penstock.sources.decorators import defer, resource, source, transformer
from penstock.sources.mark import make_hints, make_nested_hints, with_hints, with_table_name
from penstock.sources.mark import materialize_table_schema as materialize_schema_item

__all__ = [
    "DltResource",
    "DltSource",
    "Incremental",
    "SourceFactory",
    "defer",
    "make_hints",
    "make_nested_hints",
    "materialize_schema_item",
    "resource",
    "source",
    "transformer",
    "with_hints",
    "with_table_name",
]
