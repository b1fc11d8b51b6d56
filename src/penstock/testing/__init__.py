"""Tools for tests with penstock and for plug-ins.

Input:   a source, a pipeline or a destination.
Output:  cassettes of HTTP requests, temporary pipelines, assertions on tables; a contract suite for
         destinations, tables as documents, deterministic nested rows.
Imports: pipeline, sources, interfaces, errors.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from penstock.testing.bench import Bench
from penstock.testing.documents import documents, nested_rows
from penstock.testing.suite import Case, Gap, destination_suite, gap
from penstock.testing.table_assertions import assert_table
from penstock.testing.temporary import temporary_pipeline

if TYPE_CHECKING:
    from penstock.testing.cassettes import Cassette, cassette

__all__ = [
    "Bench",
    "Case",
    "Cassette",
    "Gap",
    "assert_table",
    "cassette",
    "destination_suite",
    "documents",
    "gap",
    "nested_rows",
    "temporary_pipeline",
]


def __getattr__(name: str) -> Any:
    """Import cassettes, which need the extra `rest`, at their first use."""
    if name in {"Cassette", "cassette"}:
        return getattr(import_module("penstock.testing.cassettes"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
