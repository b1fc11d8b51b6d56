"""Small programs for dlt run under penstock after a change of their import, and come to the same."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pytest
from tests.oracle.oracle_client import ask, needs_dlt, vector
from tests.oracle.snippet_runner import SNIPPETS, run_snippet

if TYPE_CHECKING:
    from pathlib import Path

Note = dict[str, Any]

DIFFERENCES: Final = {
    "order-of-generators": "a generator that comes up on the way of an item is emptied before the next item",
    "order-of-threads": "what runs in threads or on an event loop has no order, in either",
    "limit-of-nothing": "a resource with the limit 0 is not begun",
    "order-of-missing": "rows of a frame without a cursor value stay where they are",
    "columns-of-frames": "the columns of a frame are learned when its rows are normalized",
    "cursor-of-a-transformer": "the cursor of a transformer begins once in a run, not with each item",
    "contract-on-a-new-table": "a contract that freezes tables is looked at when rows are normalized",
}
"""All differences, by the names that the documentation has; nothing else is excused."""

IN_ANY_ORDER: Final = {
    "chains": "order-of-generators",
    "yielding_steps": "order-of-generators",
    "asynchronous": "order-of-threads",
    "deferred": "order-of-threads",
    "parallel": "order-of-threads",
    "failures": "order-of-threads",
    "incremental_frames": "order-of-missing",
    "incremental_parallel": "order-of-threads",
    "incremental_transformers": "order-of-generators",
}
WITHOUT_TABLES: Final = {"incremental_frames": "columns-of-frames"}
DIFFERENT: Final = {
    ("limits", 7): "limit-of-nothing",
    ("run_hints", 3): "contract-on-a-new-table",
    ("incremental_order", 5): "cursor-of-a-transformer",
    ("incremental_transformers", 3): "cursor-of-a-transformer",
    ("incremental_transformers", 4): "cursor-of-a-transformer",
}

ERRORS: Final = {
    "ConfigFieldMissingException": "ConfigFieldMissing",
    "ConfigurationValueError": "UsageError",
    "DataValidationError": "DataValidationError",
    "ExternalSchedulerNotAvailable": "UsageError",
    "InconsistentTableTemplate": "InconsistentTableTemplate",
    "IncrementalCursorInvalidCoercion": "IncrementalCursorInvalidCoercion",
    "IncrementalCursorPathHasValueNone": "IncrementalCursorPathHasValueNone",
    "IncrementalCursorPathMissing": "IncrementalCursorPathMissing",
    "IncrementalPrimaryKeyMissing": "IncrementalPrimaryKeyMissing",
    "InvalidResourceDataType": "UnsupportedData",
    "InvalidResourceDataTypeBasic": "UnsupportedData",
    "JoinSchedulerError": "UsageError",
    "ParametrizedResourceUnbound": "ResourceUnbound",
    "ParserError": "UsageError",
    "ResourceExtractionError": "ResourceFailed",
    "ResourceNameMissing": "MissingTableName",
    "ResourcesNotFoundError": "ResourcesNotFound",
    "SourceDataIsNone": "UnsupportedData",
    "ValueError": "UsageError",
    "ValueErrorWithKnownValues": "UsageError",
}
"""What dlt's errors are called here."""

# dlt finds that a transformer has nothing to take only while it reads.
UNFED: Final = ("failures", 9)


def compared(name: str, notes: list[Note]) -> list[Note]:
    """Notes without what is excused."""
    found = [_with_sorted_hashes(note) for note in notes]
    found = [_in_order(note) if name in IN_ANY_ORDER else note for note in found]
    if name in WITHOUT_TABLES:
        found = [{key: value for key, value in note.items() if key != "tables"} for note in found]
    return [{} if (name, number) in DIFFERENT else note for number, note in enumerate(found)]


def _with_sorted_hashes(found: Any) -> Any:
    """dlt keeps them in a set; their order says nothing."""
    if isinstance(found, dict):
        return {
            key: sorted(value) if key == "unique_hashes" else _with_sorted_hashes(value)
            for key, value in found.items()
        }
    return [_with_sorted_hashes(one) for one in found] if isinstance(found, list) else found


def _in_order(note: Note) -> Note:
    rows = {table: sorted(rows, key=json.dumps) for table, rows in note.get("rows", {}).items()}
    return {**note, "rows": rows} if rows else note


def renamed(name: str, notes: list[Note]) -> list[Note]:
    """Notes of dlt, with our names for its errors."""
    found = [{"error": ERRORS[note["error"]]} if "error" in note else note for note in notes]
    if name == UNFED[0]:
        found[UNFED[1]] = {"error": "ResourceUnbound"}
    return found


@pytest.mark.parametrize("name", SNIPPETS)
def test_a_snippet_yields_the_result_of_dlt(name: str, tmp_path: Path) -> None:
    theirs = vector("snippets.json")[name]

    mine = run_snippet(name, tmp_path)

    assert compared(name, mine) == compared(name, renamed(name, theirs))


def test_every_difference_is_used_and_explained() -> None:
    used = {*IN_ANY_ORDER.values(), *WITHOUT_TABLES.values(), *DIFFERENT.values()}
    assert used == set(DIFFERENCES)
    assert len(SNIPPETS) >= 50
    assert sum(name.startswith("incremental_") for name in SNIPPETS) >= 20


@pytest.mark.parametrize(("name", "number"), DIFFERENT)
def test_every_listed_difference_exists(name: str, number: int, tmp_path: Path) -> None:
    theirs = renamed(name, vector("snippets.json")[name])

    assert run_snippet(name, tmp_path)[number] != theirs[number]


@needs_dlt
def test_dlt_still_runs_snippets_as_recorded() -> None:
    theirs = ask("snippets", paths=[str(path) for path in SNIPPETS.values()])

    recorded = vector("snippets.json")
    assert set(theirs) == set(recorded)
    for name, notes in theirs.items():
        assert compared(name, notes) == compared(name, recorded[name]), name
