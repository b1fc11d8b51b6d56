"""The figures of plans are those of their loads, for generated histories of merges and other loads."""

from __future__ import annotations

import json
import os
import random
from functools import reduce
from typing import TYPE_CHECKING, Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import functions as F
from tests.conftest import SEED
from tests.flow.factories import make_pipeline
from tests.oracle.merge_histories import history, short_ones
from tests.plan_figures import Rows, differences, resource_of

import penstock
from penstock.errors import PlanOutdated

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


FEW = (19, 97, 254, 3, 25)
"""Histories with nested tables, delete flags, several keys, row versions and changes of the strategy."""
ONE = (random.Random(SEED).choice(FEW),)
MANY = int(os.environ.get("PENSTOCK_TEST_PLANS", "100"))
BATCH = 25


@pytest.mark.parametrize(
    ("lake", "seeds"),
    [
        ("delta", ONE),
        pytest.param("delta", FEW, marks=pytest.mark.at_length),
        pytest.param("iceberg", FEW, marks=pytest.mark.at_length),
        *(
            pytest.param("delta", short_ones(2000, MANY)[first : first + BATCH], marks=pytest.mark.at_length)
            for first in range(0, MANY, BATCH)
        ),
    ],
)
def test_an_application_changes_what_the_plan_says(
    lake: str, seeds: tuple[int, ...], spark: SparkSession, location: str, tmp_path: Path
) -> None:
    histories = [history(seed) for seed in seeds]
    pipeline = make_pipeline(location, tmp_path, spark, destination=getattr(penstock.destinations, lake))

    wrong: list[str] = []
    before: Rows = {}
    for number in range(max(len(item["loads"]) for item in histories)):
        current = [item for item in histories if number < len(item["loads"])]
        plan = pipeline.plan([resource_of(item, number) for item in current])
        info = pipeline.apply(plan)
        after = _rows(pipeline)
        wrong += [
            f"load {number}: {text}" for text in differences(plan, info, before, after, current, number)
        ]
        before = after

    assert not wrong, "\n".join(wrong)


def test_a_merge_names_the_files_that_it_rewrites_and_a_foreign_commit_outdates_it(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    pipeline = make_pipeline(location, tmp_path, spark)

    def load(rows: list[dict[str, Any]]) -> Any:
        return penstock.resource(rows, name="items", write_disposition="merge", primary_key="id")

    pipeline.run(load([{"id": number, "n": 0} for number in range(10)]))
    pipeline.run(load([{"id": number, "n": 0} for number in range(10, 20)]))

    plan = pipeline.plan(load([{"id": 3, "n": 1}, {"id": 30, "n": 1}]))

    (table,) = plan.packages[0].tables
    assert (table.inserted, table.updated, table.deleted, table.files) == (1, 1, 0, 1)
    assert table.file_bytes
    DeltaTable(f"{location}/demo/items").delete("id = 7")
    with pytest.raises(PlanOutdated, match="items was at version 1, and is at version 2"):
        pipeline.apply(plan)


def _rows(pipeline: penstock.Pipeline) -> Rows:
    dataset = pipeline.dataset()
    frames = [
        dataset[table].spark().select(F.lit(table).alias("name"), F.to_json(F.struct("*")).alias("row"))
        for table in dataset.tables
    ]
    rows: Rows = {table: [] for table in dataset.tables}
    for name, row in reduce(lambda merged, frame: merged.union(frame), frames).collect():
        rows[name].append(json.loads(row))
    return rows
