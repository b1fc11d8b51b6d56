"""Programs that say `destination="duckdb"` run after a change of their import, and leave the files of dlt."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest
from tests.oracle.database_content import content_of
from tests.oracle.oracle_client import ask, needs_dlt, vector
from tests.oracle.program_runner import PROGRAMS, comparable, run_program

from penstock.errors import PipelineStepFailed, SparkNotAvailable
from penstock.spark import session as session_module

BRIDGE = Path(__file__).parent / "program_bridge.py"
RECORDED = "duckdb_snippets.json"
PAGE = Path(__file__).parents[2] / "docs" / "differences-from-dlt.md"

FEW: Final = ("list_of_rows", "hard_delete", "history", "many_tables", "read_dataset", "sql_client")
"""The programs that the gate runs."""
DIFFERENT: Final = {
    "frames_with_cursor": "frames-have-ids",
    "naming": "naming-of-the-destination",
    "pydantic_model": "models-fill-in-nothing",
    "run_at_once": "named-after-the-tool",
    "trace": "a-run-is-no-step",
}
"""The names of the intended differences, by the programs that show them."""
NEED_SPARK: Final = (
    "contract_of_a_source",
    "frames",
    "frozen_schema",
    "nested_hints",
    "precision",
)
"""Programs whose rows the driver leaves to Spark: quarantined ones, renamed columns, declared digits."""


@pytest.fixture(autouse=True)
def _own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep working folders out of the user's, and refuse to start Spark."""

    def refuse(*_: Any) -> None:
        raise SparkNotAvailable(reason="this test has none", hint="load small tables")

    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(session_module, "_build", refuse)
    monkeypatch.setattr(session_module, "existing_session", lambda _: None)


def dlt_outcomes() -> dict[str, Any]:
    answers: dict[str, Any] = ask("programs", bridge=BRIDGE, programs=list(PROGRAMS))
    return answers


def outcome(name: str, folder: Path) -> dict[str, Any]:
    place = folder / "place"
    place.mkdir()
    result: dict[str, Any] = json.loads(
        json.dumps(comparable(run_program(name, place, content_of, tool="penstock")))
    )
    return result


def without_difference(name: str, outcome: dict[str, Any]) -> dict[str, Any]:
    match DIFFERENT[name]:
        case "named-after-the-tool":
            return _replaced(outcome, "penstock_program", "dlt_program")
        case "frames-have-ids":
            for dataset in outcome["datasets"].values():
                for table in dataset["tables"].values():
                    table["columns"] = [pair for pair in table["columns"] if not pair[0].startswith("_dlt_")]
                    table["rows"] = [
                        {name: row[name] for name in row if not name.startswith("_dlt_")}
                        for row in table["rows"]
                    ]
            return outcome
        case "naming-of-the-destination":
            (dataset,) = outcome["datasets"].values()
            return {"rows": sorted(len(table["rows"]) for table in dataset["tables"].values())}
        case "models-fill-in-nothing":
            return _replaced(outcome, ',\\"zip_code\\":null', "")
        case "a-run-is-no-step":
            return {**outcome, "output": [line.replace(", 'run'", "") for line in outcome["output"]]}
        case difference:
            raise ValueError(difference)


def _replaced(outcome: dict[str, Any], old: str, new: str) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(json.dumps(outcome).replace(old, new))
    return result


@pytest.mark.parametrize(
    "name",
    [
        name if name in FEW else pytest.param(name, marks=pytest.mark.at_length)
        for name in PROGRAMS
        if name not in DIFFERENT and name not in NEED_SPARK
    ],
)
def test_a_program_leaves_the_tables_of_dlt(name: str, tmp_path: Path) -> None:
    assert outcome(name, tmp_path) == vector(RECORDED)[name]


@pytest.mark.at_length
@pytest.mark.parametrize("name", DIFFERENT)
def test_a_program_with_a_named_difference_has_no_other(name: str, tmp_path: Path) -> None:
    actual, expected = outcome(name, tmp_path), vector(RECORDED)[name]

    assert actual != expected
    assert without_difference(name, actual) == without_difference(name, expected)


@pytest.mark.at_length
@pytest.mark.parametrize("name", NEED_SPARK)
def test_a_program_whose_rows_need_spark_fails_without_it(name: str, tmp_path: Path) -> None:
    with pytest.raises(PipelineStepFailed, match="this test has none"):
        outcome(name, tmp_path)


def test_every_difference_is_documented() -> None:
    page = PAGE.read_text(encoding="utf-8")

    assert [name for name in DIFFERENT.values() if f"| `{name}` |" not in page] == []
    assert len(PROGRAMS) >= 50


@needs_dlt
def test_dlt_still_leaves_the_recorded_tables() -> None:
    assert dlt_outcomes() == vector(RECORDED)
