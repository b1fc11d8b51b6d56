"""Configurations of REST sources have the results of dlt: rows, tables, state, and requests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest
from tests.oracle.oracle_client import ask, needs_dlt, vector
from tests.oracle.rest_cases import cases
from tests.oracle.rest_runner import play
from tests.oracle.snippet_runner import ExtractionRecorder
from tests.restapi import Api

from penstock.sources.rest_api import rest_api_source

BRIDGE = Path(__file__).parent / "rest_bridge.py"

with Api() as _api:
    NAMES: Final = tuple(cases(_api))

ERRORS: Final = {
    "DictValidationException": "InvalidSourceConfig",
    "ValueError": "InvalidSourceConfig",
    "ResourceExtractionError": "ResourceFailed",
}
MORE_EXACT: Final = {
    "a-bad-answer": "RequestRefused",
    "a-field-that-is-not-there": "ParentFieldMissing",
}
"""Errors that are more specific than a failed resource."""


def theirs_now() -> Any:
    return ask("rest", bridge=BRIDGE, names=NAMES)


def compared(played: dict[str, Any]) -> dict[str, Any]:
    """Return a result with sorted rows: both tools interleave resources, in different orders.

    So the requests before a failure differ too.
    """
    notes = [
        {**note, "rows": {table: sorted(rows, key=json.dumps) for table, rows in note["rows"].items()}}
        if "rows" in note
        else note
        for note in played["notes"]
    ]
    asked = [] if any("error" in note for note in notes) else played["asked"]
    return {"asked": asked, "notes": _sorted_hashes(notes)}


def _sorted_hashes(result: Any) -> Any:
    if isinstance(result, dict):
        return {
            key: sorted(item) if key == "unique_hashes" else _sorted_hashes(item)
            for key, item in result.items()
        }
    return [_sorted_hashes(item) for item in result] if isinstance(result, list) else result


def renamed(name: str, played: dict[str, Any]) -> dict[str, Any]:
    notes = [
        {"error": MORE_EXACT.get(name) or ERRORS[note["error"]]} if "error" in note else note
        for note in played["notes"]
    ]
    return {**played, "notes": notes}


@pytest.mark.parametrize("name", NAMES)
def test_a_configuration_yields_the_rows_and_requests_of_dlt(name: str, tmp_path: Path) -> None:
    expected = vector("rest.json")[name]

    actual = play(name, rest_api_source, ExtractionRecorder(tmp_path), cases)

    assert compared(json.loads(json.dumps(actual))) == compared(renamed(name, expected))


@needs_dlt
def test_dlt_still_answers_as_recorded() -> None:
    recorded, now = vector("rest.json"), theirs_now()

    assert {name: compared(item) for name, item in now.items()} == {
        name: compared(item) for name, item in recorded.items()
    }
