"""What destinations leave out of the contract, and why."""

from __future__ import annotations

from typing import Final

from penstock.errors import UsageError
from penstock.testing import destination_suite, gap

_NO_MERGE: Final = gap(
    "never",
    "rows in plain files are never found again: a merge needs a table format",
    raises=UsageError,
    says="cannot merge table",
)
PLAIN_FILES: Final = {case.name: _NO_MERGE for case in destination_suite() if "merge" in case.needs}
_ONE_KEY: Final = gap("never", "the example merges by the one key of its settings, and by nothing else")
STRANGER: Final = {
    "merge-by-merge-key-replaces-a-slice": _ONE_KEY,
    "merge-by-both-keys": _ONE_KEY,
    "merge-takes-the-newest-of-a-load": _ONE_KEY,
    "merge-deletes-what-is-flagged": _ONE_KEY,
    "merge-without-a-key-appends": _ONE_KEY,
}
