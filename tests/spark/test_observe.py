"""Row counts observed during a write: a number, or None if unknown."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from penstock.spark.observation import observe_frame

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def test_rows_are_counted_while_they_are_written(spark: SparkSession, tmp_path: Path) -> None:
    frame, count = observe_frame(spark.range(1234))

    frame.write.parquet(f"file://{tmp_path}/out")

    assert count.rows() == 1234


def test_the_row_count_of_a_write_that_never_ran_is_unknown_at_once(spark: SparkSession) -> None:
    _, count = observe_frame(spark.range(3))
    started = time.monotonic()

    assert count.rows(timeout=0.5) is None
    assert time.monotonic() - started < 30
