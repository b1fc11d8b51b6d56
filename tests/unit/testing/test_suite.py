from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from penstock.errors import UsageError
from penstock.interfaces import Destination
from penstock.testing import Bench, Case, destination_suite, documents, gap
from penstock.testing.scenarios import SCENARIOS

if TYPE_CHECKING:
    from pathlib import Path


def passes(bench: Bench) -> None:
    assert bench.dataset_name == "contract_one_case"


def fails(bench: Bench) -> None:
    raise AssertionError(bench.dataset_name)


def refuses(bench: Bench) -> None:
    raise UsageError(f"{bench.dataset_name} cannot", write_disposition="cdc")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(destination=Destination.from_reference("delta"), folder=tmp_path)


def test_a_case_has_a_dataset_of_its_own(bench: Bench) -> None:
    Case(name="one-case", promise="", check=passes).run(bench)


def test_a_gap_is_passed_by_failing_and_closes_with_a_noise(bench: Bench) -> None:
    todo = gap("todo", "not written yet")

    Case(name="one-case", promise="", check=fails, gap=todo).run(bench)
    with pytest.raises(AssertionError, match="take its gap away"):
        Case(name="one-case", promise="", check=passes, gap=todo).run(bench)
    with pytest.raises(UsageError):
        Case(name="one-case", promise="", check=refuses, gap=todo).run(bench)


def test_a_gap_names_its_expected_error(bench: Bench) -> None:
    refused = gap("never", "it cannot", raises=UsageError, says="another thing")

    with pytest.raises(UsageError):
        Case(name="one-case", promise="", check=refuses, gap=refused).run(bench)


def test_a_destination_must_refuse_what_it_does_not_support(bench: Bench) -> None:
    Case(name="one-case", promise="", check=refuses, needs=("merge", "cdc")).run(bench)
    with pytest.raises(AssertionError, match="'cdc' is not among the capabilities"):
        Case(name="one-case", promise="", check=passes, needs=("merge", "cdc")).run(bench)


def test_a_gap_without_a_case_is_an_error() -> None:
    with pytest.raises(UsageError, match="unknown case 'no-such'"):
        destination_suite({"no-such": gap("never", "")})


def test_cases_are_chosen_by_name() -> None:
    assert [case.name for case in destination_suite(only=["rows-are-counted"])] == ["rows-are-counted"]


def test_every_scenario_declares_its_needs_and_begins_with_rows() -> None:
    assert all(one.needs and one.loads[0][0] for one in SCENARIOS)


def test_the_lists_of_a_nested_object_belong_to_the_row_of_the_object() -> None:
    row = {"sha": "x", "_dlt_parent_id": "a", "_dlt_list_idx": 0, "_dlt_id": "b"}

    result = documents({"pushes": [{"id": 1, "_dlt_id": "a"}], "pushes__payload__commits": [row]}, "pushes")

    assert result == {"rows": [{"id": 1, "payload__commits": [{"sha": "x"}]}], "orphans": {}}


def test_nested_rows_without_a_parent_are_counted() -> None:
    lost = {"value": "x", "_dlt_parent_id": "gone", "_dlt_list_idx": 0, "_dlt_id": "b"}

    found = documents({"items": [{"id": 1, "_dlt_id": "a"}], "items__tags": [lost]}, "items")

    assert found == {"rows": [{"id": 1}], "orphans": {"items__tags": 1}}
