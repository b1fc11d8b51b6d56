"""Histories of loads have the same result on Delta and Iceberg as with dlt on DuckDB."""

from __future__ import annotations

import json
import os
from collections import Counter
from functools import reduce
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F
from tests.flow.factories import make_pipeline
from tests.oracle.merge_histories import history, short_ones
from tests.oracle.merge_outcomes import NESTED, ORPHANS, RECORDED, REFUSED, dlt_outcomes, without_differences
from tests.oracle.oracle_client import needs_dlt, vector

import penstock
from penstock.testing import documents

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

MORE = int(os.environ.get("PENSTOCK_TEST_HISTORIES", "0"))
FIRST = int(os.environ.get("PENSTOCK_TEST_HISTORIES_FROM", "1000"))
AS_TEXT = {"timeZone": "UTC", "timestampFormat": "yyyy-MM-dd'T'HH:mm:ssxxx"}

FEW = (19, 97, 254)
"""The histories that CI plays: every named difference."""


def loaded(pipeline: penstock.Pipeline, histories: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Load all histories as resources of one pipeline; return their tables."""
    for number in range(max(len(item["loads"]) for item in histories)):
        pipeline.run([resource(item, number) for item in histories if number < len(item["loads"])])
    return content(pipeline, [item["name"] for item in histories])


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


def content(pipeline: penstock.Pipeline, roots: list[str]) -> dict[str, dict[str, Any]]:
    """Read all tables of all roots in one query: they are small and many."""
    dataset = pipeline.dataset()
    result: dict[str, dict[str, list[Any]]] = {root: {} for root in roots}
    frames = []
    for table in dataset.tables:
        root = table.partition("__")[0]
        if root in result:
            result[root][table] = []
            row = F.to_json(F.struct("*"), AS_TEXT)
            frames.append(dataset[table].spark().select(F.lit(table).alias("table"), row.alias("row")))
    for table, row in reduce(lambda left_frame, right_frame: left_frame.union(right_frame), frames).collect():
        result[table.partition("__")[0]][table].append(json.loads(row))
    return {root: documents(tables, root) for root, tables in result.items()}


@pytest.mark.parametrize(
    "seeds", [FEW, pytest.param(RECORDED, marks=pytest.mark.at_length)], ids=["few", "all"]
)
def test_merge_histories_end_as_with_dlt(
    seeds: tuple[int, ...], spark: SparkSession, location: str, tmp_path: Path
) -> None:
    histories = [history(seed) for seed in seeds]

    result = loaded(make_pipeline(location, tmp_path, spark), histories)

    named = compare(histories, result, vector("merges.json"))

    assert named == {"h19": [ORPHANS], "h97": [NESTED], "h254": [REFUSED]}


@pytest.mark.at_length
def test_merge_histories_end_as_with_dlt_on_iceberg(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    histories = [history(seed) for seed in RECORDED[:3]]

    result = loaded(
        make_pipeline(location, tmp_path, spark, destination=penstock.destinations.iceberg), histories
    )

    compare(histories, result, vector("merges.json"))


@needs_dlt
@pytest.mark.parametrize("lake", ["delta", "iceberg"])
@pytest.mark.skipif(not MORE, reason="PENSTOCK_TEST_HISTORIES says how many histories to compare")
def test_many_merge_histories_end_as_with_dlt(
    lake: str, spark: SparkSession, location: str, tmp_path: Path
) -> None:
    seeds = short_ones(FIRST, MORE)
    histories = [history(seed) for seed in seeds]

    pipeline = make_pipeline(location, tmp_path, spark, destination=getattr(penstock.destinations, lake))
    named = compare(histories, loaded(pipeline, histories), dlt_outcomes(seeds))

    counted = Counter(trait for item in histories for trait in (item["kind"], *item["traits"]))
    loads = sum(len(item["loads"]) for item in histories)
    kinds = dict(sorted(counted.items()))
    print(f"{lake}: {len(seeds)} histories to seed {seeds[-1]}, {loads} loads: {kinds}")  # noqa: T201 - the figures
    print(f"{len(named)} with a difference: {named}")  # noqa: T201 - the figures


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
