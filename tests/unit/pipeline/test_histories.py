"""Histories of loads, plans and undos of Delta tables equal a model after each step, without Spark."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from tests.conftest import SEED
from tests.flow.crashes.shop import NAME
from tests.load_histories import TableKind, play_histories, rows_of_dataset

import penstock
from penstock import destinations

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.pipeline.pipeline import Pipeline

pytestmark = pytest.mark.usefixtures("no_spark")
HISTORIES = int(os.environ.get("PENSTOCK_TEST_LOAD_HISTORIES", "100+40").partition("+")[0])
CRASHES = int(os.environ.get("PENSTOCK_TEST_LOAD_HISTORIES", "100+40").partition("+")[2])


def pipeline_at(root: Path, machine: str) -> Pipeline:
    lake = destinations.delta(bucket_url=str(root / "lake"))
    return penstock.pipeline(NAME, destination=lake, dataset_name=NAME, pipelines_dir=str(root / machine))


DELTA = TableKind(pipeline_at=pipeline_at, rows_of=rows_of_dataset, tables=("events", "stock"))
"""Merges of Delta tables and refused rows need Spark: see tests/flow."""


def test_two_histories_equal_their_models_after_each_step(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not play_histories(DELTA, tmp_path, range(SEED, SEED + 1), capsys, length=4)
    assert not play_histories(DELTA, tmp_path, range(-SEED, 1 - SEED), capsys, length=4, has_crashes=True)


@pytest.mark.at_length
def test_many_histories_equal_their_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert not play_histories(DELTA, tmp_path, range(HISTORIES), capsys)


@pytest.mark.at_length
def test_histories_with_crashes_equal_their_models(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not play_histories(DELTA, tmp_path, range(1000, 1000 + CRASHES), capsys, has_crashes=True)
