"""Histories of loads have the same result on DuckDB as with dlt there; no Spark is started."""

from __future__ import annotations

import json
import os
from collections import Counter
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from tests.oracle.merge_histories import history, short_ones
from tests.oracle.merge_outcomes import NESTED, ORPHANS, RECORDED, REFUSED, dlt_outcomes, without_differences
from tests.oracle.oracle_client import needs_dlt, vector
from tests.unit.destinations.duckdb.databases import pipeline_into

import penstock
from penstock.testing import documents

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.pipeline.pipeline import Pipeline

MORE = int(os.environ.get("PENSTOCK_TEST_HISTORIES", "0"))
FIRST = int(os.environ.get("PENSTOCK_TEST_HISTORIES_FROM", "1000"))
pytestmark = pytest.mark.usefixtures("no_spark")


def loaded(pipeline: Pipeline, histories: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Load all histories as resources of one pipeline; return their documents."""
    for number in range(max(len(item["loads"]) for item in histories)):
        pipeline.run([resource(item, number) for item in histories if number < len(item["loads"])])
    dataset = pipeline.dataset()
    result: dict[str, dict[str, Any]] = {item["name"]: {} for item in histories}
    for table in dataset.tables:
        root = table.partition("__")[0]
        if root in result:
            rows = dataset[table].arrow().to_pylist()
            result[root][table] = [{name: plain(value) for name, value in row.items()} for row in rows]
    return {root: documents(tables, root) for root, tables in result.items()}


def resource(history: dict[str, Any], number: int) -> Any:
    load = history["loads"][number]
    return penstock.resource(
        load["rows"],
        name=history["name"],
        write_disposition=load["write_disposition"],
        primary_key=history["primary_key"] or None,
        merge_key=history["merge_key"] or None,
        columns=history["columns"],
    )


def plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    return str(value) if isinstance(value, (date, Decimal)) else value


def compare(
    histories: list[dict[str, Any]], result: dict[str, dict[str, Any]], expected: dict[str, Any]
) -> dict[str, list[str]]:
    """Fail on a difference without a name; return the named differences."""
    named: dict[str, list[str]] = {}
    wrong: dict[str, Any] = {}
    for item in histories:
        actual, outcome, names = without_differences(item, result[item["name"]], expected[item["name"][1:]])
        if actual != outcome or result[item["name"]]["orphans"]:
            wrong[item["name"]] = {"kind": item["kind"], "ours": actual, "theirs": outcome}
        if names:
            named[item["name"]] = names
    assert not wrong, json.dumps(wrong, indent=1)
    return named


def test_merge_histories_end_as_with_dlt(tmp_path: Path) -> None:
    histories = [history(seed) for seed in RECORDED]

    result = loaded(pipeline_into(tmp_path), histories)

    named = compare(histories, result, vector("merges.json"))
    assert {name: named.get(name) for name in ("h19", "h97", "h254")} == {
        "h19": [ORPHANS],
        "h97": [NESTED],
        "h254": [REFUSED],
    }


@needs_dlt
@pytest.mark.skipif(not MORE, reason="PENSTOCK_TEST_HISTORIES says how many histories to compare")
def test_many_merge_histories_end_as_with_dlt(tmp_path: Path) -> None:
    seeds = short_ones(FIRST, MORE)
    histories = [history(seed) for seed in seeds]

    named = compare(histories, loaded(pipeline_into(tmp_path), histories), dlt_outcomes(seeds))

    kinds = Counter(trait for item in histories for trait in (item["kind"], *item["traits"]))
    print(f"{len(seeds)} histories: {dict(sorted(kinds.items()))}")  # noqa: T201 - the figures
    print(f"{len(named)} with a difference: {named}")  # noqa: T201 - the figures
