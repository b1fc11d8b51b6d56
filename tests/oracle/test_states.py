"""State is written, hashed and read like that of dlt, with values of all types."""

from __future__ import annotations

from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, Final

import orjson
import pytest
from tests.oracle.oracle_client import ask, needs_dlt, vector
from tests.oracle.snippet_runner import coded

from penstock.package.typed_json import from_typed, to_typed
from penstock.pipeline.state import state_hash

STATES: Final[list[dict[str, Any]]] = [
    {"a": 1},
    {
        "sources": {
            "hub": {"resources": {"issues": {"last": {"$": "timestamp", "v": "2024-05-06T07:08:09+02:00"}}}}
        }
    },
    {"sources": {"a": {"on": {"$": "date", "v": "2024-05-06"}, "at": {"$": "time", "v": "07:08:09.000100"}}}},
    {"sources": {"a": {"naive": {"$": "timestamp", "v": "2024-05-06T07:08:09.120000"}}}},
    {"sources": {"a": {"rate": {"$": "decimal", "v": "1.50"}, "big": {"$": "decimal", "v": "1E+9"}}}},
    {"sources": {"a": {"raw": {"$": "binary", "v": "00ff"}, "list": [1, None, True, 2.5, "é"]}}},
    {"_state_version": 3, "_version_hash": "x", "_state_engine_version": 4, "_local": {"b": 2}, "a": 1},
]
"""Documents in the format of the bridge: types that JSON lacks are `{"$": type, "v": text}`."""


def plain(given: Any) -> Any:
    if isinstance(given, list):
        return [plain(item) for item in given]
    if not isinstance(given, dict):
        return given
    if "$" not in given:
        return {key: plain(item) for key, item in given.items()}
    readers: dict[str, Any] = {
        "timestamp": datetime.fromisoformat,
        "date": date.fromisoformat,
        "time": time.fromisoformat,
        "decimal": Decimal,
        "binary": bytes.fromhex,
    }
    return readers[given["$"]](given["v"])


@pytest.mark.parametrize("number", range(len(STATES)))
def test_a_state_has_the_hash_and_the_text_of_dlt(number: int) -> None:
    state, expected = plain(STATES[number]), vector("states.json")[number]

    assert state_hash(state) == expected["hash"]
    assert orjson.dumps(to_typed(state)).decode() == expected["json"]


@pytest.mark.parametrize("number", range(len(STATES)))
def test_a_state_written_by_dlt_is_read_as_dlt_reads_it(number: int) -> None:
    expected = vector("states.json")[number]

    assert coded(from_typed(orjson.loads(expected["json"]))) == expected["read"]


@needs_dlt
def test_dlt_still_writes_states_as_recorded() -> None:
    assert ask("states", states=STATES) == vector("states.json")
