"""Histories of loads, plans and undos equal a model after each step: merges, Iceberg and plain files."""

from __future__ import annotations

import json
import os
import random
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F
from tests.conftest import SEED
from tests.flow.crashes.shop import NAME
from tests.load_histories import DISPOSITIONS, TableKind, data_tables, play_histories

import penstock

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession
    from tests.plan_figures import Rows

    from penstock.pipeline.pipeline import Pipeline

HISTORIES, CRASHES = (
    int(part) for part in os.environ.get("PENSTOCK_TEST_LOAD_HISTORIES", "100+40").split("+")
)
KINDS = ("delta", "iceberg", "filesystem")


def pipeline_at(root: Path, machine: str, *, kind: str, spark: SparkSession) -> Pipeline:
    lake = getattr(penstock.destinations, kind)(bucket_url=str(root / "lake"))
    folder = str(root / machine)
    return penstock.pipeline(NAME, destination=lake, dataset_name=NAME, pipelines_dir=folder, spark=spark)


def rows_by_spark(pipeline: Pipeline) -> Rows:
    """Return the visible rows of all data tables, by one job."""
    dataset = pipeline.dataset()
    rows: Rows = {name: [] for name in data_tables(dataset.tables)}
    frames = [
        dataset[name].spark().select(F.lit(name).alias("name"), F.to_json(F.struct("*")).alias("row"))
        for name in rows
    ]
    if frames:
        for name, row in reduce(lambda merged, frame: merged.union(frame), frames).collect():
            rows[name].append(json.loads(row))
    return rows


def rows_of_files(pipeline: Pipeline) -> Rows:
    """Return the rows of the files that readers see, read without Spark."""
    client: Any = pipeline.reading_client()
    rows: Rows = {}
    with client:
        for name in client.table_names():
            table_files = client.table_files(name)
            paths = [table_files.store.path(key) for key in table_files.files()]
            rows[name] = [row for path in paths for row in pq.read_table(path).to_pylist()]
    return rows


@pytest.fixture
def table_kind(kind: str, spark: SparkSession) -> TableKind:
    is_files = kind == "filesystem"
    return TableKind(
        pipeline_at=partial(pipeline_at, kind=kind, spark=spark),
        rows_of=rows_of_files if is_files else rows_by_spark,
        tables=("events", "stock", "reviews") if is_files else tuple(DISPOSITIONS),
        keeps_replaced_rows=not is_files,
    )


@pytest.mark.at_length
@pytest.mark.parametrize("kind", [random.Random(SEED).choice(KINDS)])
def test_two_histories_equal_their_models_after_each_step(
    table_kind: TableKind, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not play_histories(table_kind, tmp_path, [SEED], capsys, length=6)
    assert not play_histories(table_kind, tmp_path, [-SEED], capsys, length=6, has_crashes=True)


@pytest.mark.at_length
@pytest.mark.parametrize("kind", KINDS)
def test_many_histories_equal_their_models(
    table_kind: TableKind, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not play_histories(table_kind, tmp_path, range(HISTORIES), capsys)


@pytest.mark.at_length
@pytest.mark.parametrize("kind", KINDS)
def test_histories_with_crashes_equal_their_models(
    table_kind: TableKind, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not play_histories(table_kind, tmp_path, range(1000, 1000 + CRASHES), capsys, has_crashes=True)
