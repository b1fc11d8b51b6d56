"""The merge histories: their coverage, and the documentation of the differences."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

from tests.oracle.merge_histories import STRATEGIES, SWITCHES, history, short_ones
from tests.oracle.merge_outcomes import DIFFERENCES, RECORDED
from tests.oracle.oracle_client import vector

PAGE = Path(__file__).parents[2] / "docs" / "differences-from-dlt.md"
SEEDS = short_ones(1000, 150)
MANY = [history(seed) for seed in SEEDS]


def test_every_difference_is_documented() -> None:
    page = PAGE.read_text(encoding="utf-8")

    assert [name for name in DIFFERENCES if f"| `{name}` |" not in page] == []


def test_a_history_is_deterministic() -> None:
    assert [history(seed) for seed in SEEDS] == MANY


def test_histories_cover_everything_that_is_compared() -> None:
    result = Counter(trait for item in MANY for trait in (item["kind"], *item["traits"]))

    kinds = {*STRATEGIES, *(">".join(switch) for switch in SWITCHES)}
    traits = {
        *("nested: tags", "nested: tags and parts", "flag bool", "flag bigint", "compound key", "merge key"),
        *("sorted asc, doubles", "sorted desc, doubles", "no key", "active until"),
    }
    assert kinds | traits == set(result)
    assert {len(item["loads"]) for item in MANY} == {2, 3, 4, 5, 6}


def comes_again(case: dict[str, Any]) -> bool:
    """Return whether a row is in a load, is missing in a later one, and is in one after that."""
    loads = [{repr(row) for row in load["rows"]} for load in case["loads"]]
    return any(
        row in first and row not in between and row in last
        for first, between, last in combinations(loads, 3)
        for row in first
    )


def test_scd2_histories_retire_versions_and_insert_them_again() -> None:
    assert sum(comes_again(item) for item in MANY if item["kind"] == "scd2") > 10


def test_recorded_histories_are_small_and_cover_every_strategy() -> None:
    recorded = [history(seed) for seed in RECORDED]

    assert {item["kind"] for item in recorded} >= set(STRATEGIES)
    assert set(vector("merges.json")) == {str(seed) for seed in RECORDED}
