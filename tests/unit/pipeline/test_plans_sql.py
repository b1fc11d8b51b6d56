"""Plans of merges into DuckDB: the figures are those of the load, for histories of merges."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.oracle.merge_histories import history, short_ones
from tests.plan_figures import differences, resource_of

import penstock
from penstock import destinations

if TYPE_CHECKING:
    from pathlib import Path

    from tests.plan_figures import Rows

    from penstock.pipeline.pipeline import Pipeline

pytestmark = pytest.mark.usefixtures("no_spark")
FEW = (0, 1, 3)
"""A delete-insert, an upsert and row versions, with nested tables and delete flags."""


@pytest.fixture
def pipeline(tmp_path: Path) -> Pipeline:
    return penstock.pipeline(
        "shop",
        destination=destinations.duckdb(str(tmp_path / "shop.duckdb")),
        dataset_name="demo",
        pipelines_dir=str(tmp_path / "pipelines"),
    )


@pytest.mark.parametrize(
    "seeds", [FEW, pytest.param(short_ones(2000, 100), marks=pytest.mark.at_length)], ids=["few", "many"]
)
def test_an_application_changes_what_the_plan_says(seeds: tuple[int, ...], pipeline: Pipeline) -> None:
    histories = [history(seed) for seed in seeds]

    wrong: list[str] = []
    before: Rows = {}
    for number in range(max(len(item["loads"]) for item in histories)):
        current = [item for item in histories if number < len(item["loads"])]
        plan = pipeline.plan([resource_of(item, number) for item in current])
        info = pipeline.apply(plan)
        dataset = pipeline.dataset()
        after = {table: dataset[table].arrow().to_pylist() for table in dataset.tables}
        wrong += [
            f"load {number}: {text}" for text in differences(plan, info, before, after, current, number)
        ]
        before = after

    assert not wrong, "\n".join(wrong)
