"""For people who test with penstock or write plug-ins for it.

Input:   a destination.
Output:  cases that every destination must pass, tables as documents, deterministic nested rows of any number.
Imports: pipeline, sources, interfaces, errors.
"""

from penstock.testing.bench import Bench
from penstock.testing.documents import documents, nested_rows
from penstock.testing.suite import Case, Gap, destination_suite, gap

__all__ = ["Bench", "Case", "Gap", "destination_suite", "documents", "gap", "nested_rows"]
