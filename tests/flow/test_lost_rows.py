"""Normalize detects a file of a package that has fewer rows than were extracted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.step_failures import step_raises

import penstock
from penstock.errors import InternalError

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

ROWS: list[dict[str, Any]] = [{"id": number} for number in range(3)]
WITH_LISTS = [{**row, "parts": [1, 2]} for row in ROWS]


@pytest.mark.parametrize(
    "data",
    [ROWS, pa.Table.from_pylist(ROWS), pa.Table.from_pylist(WITH_LISTS)],
    ids=["rows", "a table whose files stay", "a table with lists"],
)
def test_rows_lost_between_extract_and_normalize_stop_the_run(
    data: Any, spark: SparkSession, tmp_path: Path
) -> None:
    pipeline = penstock.pipeline(
        "shop",
        pipelines_dir=tmp_path / "disk",
        destination=penstock.destinations.delta(str(tmp_path / "lake")),
        spark=spark,
    )
    pipeline.extract(data, table_name="orders")
    (file,) = (tmp_path / "lake").rglob("data/extracted/**/*.parquet")
    pq.write_table(pq.read_table(file).slice(0, 2), file)

    with step_raises(InternalError, match="3 rows of orders went in and 2 came out", step="normalize"):
        pipeline.normalize()
