"""The scenarios: their coverage, and the documentation of the differences."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.conftest import AT_LENGTH
from tests.oracle.oracle_client import needs_dlt, vector
from tests.oracle.scenario_outcomes import (
    DIFFERENCES,
    DIFFERENT,
    MODES,
    comparable,
    dlt_outcome,
    dlt_outcomes,
    expected,
    recorded,
)
from tests.oracle.scenarios import (
    DISPOSITIONS,
    SHORT,
    WITHOUT_DIFFERENCES,
    few,
    number_of_loads,
    scenarios,
)
from tests.rule_assertions import assert_no_offenders

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.oracle.scenario_outcomes import Mode, Outcome

PAGE = Path(__file__).parents[2] / "docs" / "differences-from-dlt.md"
KINDS = {"plain", "pending", "refresh", "raises", "contract", "empty", "cursor", "deleted", "job"}
STEPS = {
    *("run", "extract", "normalize", "load", "sync", "drop", "drop_pending"),
    *("wipe", "delete", "spoil", "mend"),
}
ALL = scenarios()


def test_scenarios_are_plain_data_and_deterministic() -> None:
    assert scenarios() == ALL
    assert json.loads(json.dumps(ALL)) == ALL


def test_scenarios_cover_everything_that_is_compared() -> None:
    steps = [step for item in ALL.values() for step in item["steps"]]
    contracts = {
        (entity, mode)
        for step in steps
        for resource in step.get("resources", ())
        for entity, mode in resource["hints"].get("schema_contract", {}).items()
    }

    assert len(ALL) >= 60
    assert {item["kind"] for item in ALL.values()} == KINDS
    assert {item["disposition"] for item in ALL.values()} == set(DISPOSITIONS)
    assert {step["do"] for step in steps} == STEPS
    assert {step.get("refresh") for step in steps} == {None, "drop_sources", "drop_resources", "drop_data"}
    assert {entity for entity, mode in contracts if mode == "freeze"} == {"tables", "columns", "data_type"}
    assert {mode for _, mode in contracts} == {"freeze", "discard_row", "discard_value"}


@pytest.mark.parametrize("kind", sorted(KINDS - {"cursor", "job", "deleted", "contract"}))
def test_each_family_covers_dispositions_that_add_and_that_replace(kind: str) -> None:
    words = {item["disposition"] for item in ALL.values() if item["kind"] == kind}

    assert words >= {"append", "replace"}
    assert words & {"delete-insert", "upsert", "scd2"}


@pytest.mark.parametrize("seed", range(20))
def test_the_sample_has_one_short_scenario_of_each_family(seed: int) -> None:
    names = few(seed)

    assert few(seed) == names
    assert {ALL[name]["kind"] for name in names} == KINDS
    assert len(names) == len(KINDS)
    assert all(number_of_loads(ALL[name]) <= SHORT for name in names)


def test_every_scenario_is_recorded_and_nothing_else() -> None:
    assert set(vector("scenarios.json")) == {*ALL, *scenarios(WITHOUT_DIFFERENCES)}


def test_every_difference_is_used_and_documented() -> None:
    page = PAGE.read_text(encoding="utf-8")

    listed = {name for mode in MODES for item in DIFFERENT[mode].values() for name in item.names}
    assert listed == set(DIFFERENCES)
    assert [name for name in DIFFERENCES if f"| `{name}` |" not in page] == []
    assert f"\n{len(ALL)} scenarios are played by dlt" in page


def test_every_extra_scenario_is_the_expected_end_of_another_one() -> None:
    used = {item.ends_as for mode in MODES for item in DIFFERENT[mode].values()}

    assert set(scenarios(WITHOUT_DIFFERENCES)) <= used


def stale_differences(name: str, answers: Mapping[str, Outcome], mode: Mode) -> Iterator[str]:
    """Yield listed differences of a scenario that do not exist."""
    wanted, played = expected(name, answers, mode), dlt_outcome(name, answers)
    difference = DIFFERENT[mode][name]
    if len(wanted["steps"]) != len(ALL[name]["steps"]):
        yield f"{name}: {len(wanted['steps'])} steps are expected of {len(ALL[name]['steps'])}"
    for number, note in difference.steps.items():
        if note == played["steps"][number]:
            yield f"{name}: step {number} is that of dlt"
    if set(wanted["datasets"]) != set(played["datasets"]):
        yield f"{name}: datasets {sorted(wanted['datasets'])}, dlt {sorted(played['datasets'])}"
    differs = {**wanted, "steps": []} != {**played, "steps": []}
    if differs is (difference.ends_as is None):
        end = "differs from" if differs else "is equal to"
        yield f"{name}: `ends_as` is {difference.ends_as!r}, and the end {end} that of dlt"


@pytest.mark.parametrize("mode", MODES)
def test_scenarios_listed_as_different_differ_from_dlt(mode: Mode) -> None:
    answers = recorded(mode)

    assert_no_offenders(
        (fault for name in DIFFERENT[mode] for fault in stale_differences(name, answers, mode)),
        "correct DIFFERENT",
    )


@pytest.mark.parametrize("mode", MODES)
def test_all_other_scenarios_are_expected_to_end_as_with_dlt(mode: Mode) -> None:
    answers = recorded(mode)

    assert_no_offenders(
        (
            name
            for name in ALL
            if name not in DIFFERENT[mode] and expected(name, answers, mode) != dlt_outcome(name, answers)
        ),
        "expect what dlt does, or list the scenario in DIFFERENT",
    )


def test_scenarios_with_failed_jobs_are_recorded_with_the_default_of_the_page_too() -> None:
    outcomes = vector("scenarios_page.json")

    assert set(outcomes) == {name for name, item in ALL.items() if item["kind"] == "job"}
    assert any(step.get("failed_jobs") for outcome in outcomes.values() for step in outcome["steps"])


def test_rows_are_compared_by_their_values_and_their_parents() -> None:
    tables = {
        "items": [{"id": 2, "_dlt_id": "b", "_dlt_load_id": "7"}, {"id": 1, "_dlt_id": "a", "late": None}],
        "items__tags": [{"value": "x", "_dlt_parent_id": "b", "_dlt_list_idx": 0, "_dlt_id": "c"}],
        "others": [],
    }
    played = {"steps": [], "state": {}, "datasets": {"demo": {"loads": 2, "tables": tables}}}

    result = comparable(played)["datasets"]["demo"]

    assert (result["loads"], result["tables"]) == (2, ["items", "items__tags", "others"])
    assert result["content"]["items"]["rows"] == [{"id": 1}, {"id": 2, "tags": [{"value": "x"}]}]
    assert result["content"]["others"] == {"rows": [], "orphans": {}}


@needs_dlt
def test_dlt_still_plays_scenarios_as_recorded() -> None:
    names = None if AT_LENGTH else few(1)
    outcomes = vector("scenarios.json")

    for name, outcome in dlt_outcomes(names).items():
        assert outcome == outcomes[name], name
