"""The gaps of destinations in the contract, with their reasons."""

from __future__ import annotations

from typing import Final

from penstock.errors import UsageError
from penstock.testing import destination_suite, gap

_NO_MERGE: Final = gap(
    "never",
    "rows of plain files cannot be addressed: a merge needs a table format",
    raises=UsageError,
    says="cannot merge table",
)
PLAIN_FILES: Final = {case.name: _NO_MERGE for case in destination_suite() if "merge" in case.needs}
_ONE_KEY: Final = gap("never", "the example merges only by the key in its settings")
THIRD_PARTY: Final = {
    "merge-by-merge-key-replaces-a-slice": _ONE_KEY,
    "merge-by-both-keys": _ONE_KEY,
    "merge-takes-the-newest-of-a-load": _ONE_KEY,
    "merge-deletes-what-is-flagged": _ONE_KEY,
    "merge-without-a-key-appends": _ONE_KEY,
}
