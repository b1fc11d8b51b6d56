"""Tools for tests with penstock and for plug-ins.

Input:   a destination.
Output:  a contract suite for destinations, tables as documents, deterministic nested rows.
Imports: pipeline, sources, interfaces, errors.
"""

from penstock.testing.bench import Bench
from penstock.testing.documents import documents, nested_rows
from penstock.testing.suite import Case, Gap, destination_suite, gap

__all__ = ["Bench", "Case", "Gap", "destination_suite", "documents", "gap", "nested_rows"]
