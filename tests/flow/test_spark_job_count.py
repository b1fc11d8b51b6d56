"""The number of Spark jobs depends on tables, not on rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.conftest import AT_LENGTH
from tests.flow.factories import make_pipeline

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pytest
    from pyspark.sql import SparkSession

ROWS = 300_000 if AT_LENGTH else 30_000


def rows(count: int) -> Iterator[dict[str, Any]]:
    for number in range(count):
        yield {"id": number, "name": f"n{number}", "tags": [f"t{number}"]}


def jobs_so_far(spark: SparkSession) -> int:
    """Return the number of jobs that the scheduler has started."""
    context: Any = spark.sparkContext
    begun: int = context._jsc.sc().dagScheduler().numTotalJobs()
    return begun


def test_the_number_of_spark_jobs_does_not_depend_on_the_number_of_rows(
    spark: SparkSession, location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NORMALIZE__DRIVER_ROWS", "0")
    counts = []
    for name, count in (("few", 3), ("many", ROWS)):
        pipeline = make_pipeline(f"{location}/{name}", tmp_path, spark, name=name)
        before = jobs_so_far(spark)
        pipeline.run(rows(count), table_name="items")
        counts.append(jobs_so_far(spark) - before)

    assert counts[0] == counts[1] > 0, counts
    print(f"jobs: {counts}")  # noqa: T201 - the figure, shown with -s
