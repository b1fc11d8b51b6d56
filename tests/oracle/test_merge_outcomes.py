"""The histories that are compared on Delta: what is in them, and what is said of where ours differ."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

from tests.oracle.merge_histories import STRATEGIES, SWITCHES, history, short_ones
from tests.oracle.merge_outcomes import DIFFERENCES, RECORDED
from tests.oracle.oracle_client import vector

PAGE = Path(__file__).parents[2] / "docs" / "coming-from-dlt.md"
SEEDS = short_ones(1000, 150)
MANY = [history(seed) for seed in SEEDS]


def test_every_difference_is_in_the_documentation() -> None:
    page = PAGE.read_text(encoding="utf-8")

    assert [name for name in DIFFERENCES if f"| `{name}` |" not in page] == []


def test_a_history_is_the_same_each_time() -> None:
    assert [history(seed) for seed in SEEDS] == MANY


def test_histories_have_all_that_is_to_be_compared() -> None:
    found = Counter(trait for one in MANY for trait in (one["kind"], *one["traits"]))

    kinds = {*STRATEGIES, *(">".join(switch) for switch in SWITCHES)}
    traits = {
        *("nested: tags", "nested: tags and parts", "flag bool", "flag bigint", "compound key", "merge key"),
        *("sorted asc, doubles", "sorted desc, doubles", "no key", "active until"),
    }
    assert kinds | traits == set(found)
    assert {len(one["loads"]) for one in MANY} == {2, 3, 4, 5, 6}


def comes_again(one: dict[str, Any]) -> bool:
    """Whether a row is in a load, is missing in a later one, and is in one after that."""
    loads = [{repr(row) for row in load["rows"]} for load in one["loads"]]
    return any(
        row in first and row not in between and row in last
        for first, between, last in combinations(loads, 3)
        for row in first
    )


def test_versions_go_and_come_again() -> None:
    assert sum(comes_again(one) for one in MANY if one["kind"] == "scd2") > 10


def test_those_that_are_recorded_are_small_and_of_every_strategy() -> None:
    recorded = [history(seed) for seed in RECORDED]

    assert {one["kind"] for one in recorded} >= set(STRATEGIES)
    assert set(vector("merges.json")) == {str(seed) for seed in RECORDED}
