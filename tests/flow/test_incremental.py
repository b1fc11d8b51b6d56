"""Cursors through whole runs: loaded rows are not loaded again, for rows, frames and DataFrames."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F
from tests.flow.factories import make_pipeline, packages_of
from tests.step_failures import step_raises

import penstock
from penstock.errors import IncrementalCursorPathHasValueNone
from penstock.extract.cursor.plan import MAX_HASHES_PER_CURSOR

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from penstock.load.report import LoadInfo

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)


def loaded(info: LoadInfo, name: str) -> int:
    return sum(
        table.rows or 0 for package in info.packages for table in package.tables if table.table == name
    )


def events(spark: SparkSession, until: int) -> DataFrame:
    """Return three events for each of several whole hours."""
    hours = (F.col("id") / 3).cast("int")
    at = F.timestamp_micros(F.lit(int(NOON.timestamp()) * 1_000_000) + hours * 3_600_000_000)
    return spark.range(until).select("id", at.alias("At"), F.struct(hours.alias("Hour")).alias("more"))


@pytest.mark.every_mode
@pytest.mark.parametrize("key", ["id", pytest.param(None, marks=pytest.mark.at_length)])
def test_a_dataframe_is_loaded_from_where_its_cursor_stopped(
    spark: SparkSession, location: str, tmp_path: Path, key: str | None
) -> None:
    pipeline = make_pipeline(location, tmp_path, spark)

    def run(until: int) -> int:
        cursor = penstock.sources.incremental[datetime]("At")
        resource = penstock.resource(
            [events(spark, until)], name="events", primary_key=key, incremental=cursor
        )
        info = pipeline.run(resource)
        return loaded(info, "events")

    assert [run(7), run(7), run(8), run(10)] == [7, 0, 1, 2]
    rows = pipeline.dataset()["events"].spark()
    assert sorted(row["id"] for row in rows.select("id").collect()) == list(range(10))


@pytest.mark.parametrize(
    "missing",
    ["raise", *(pytest.param(name, marks=pytest.mark.at_length) for name in ("include", "exclude"))],
)
def test_rows_of_a_dataframe_without_a_cursor_value_follow_the_setting(
    spark: SparkSession, location: str, tmp_path: Path, missing: Any
) -> None:
    pipeline = make_pipeline(location, tmp_path, spark)
    frame = spark.range(4).select("id", F.when(F.col("id") != 2, F.col("id")).alias("n"))
    cursor = penstock.sources.incremental("n", on_cursor_value_missing=missing, initial_value=1)
    resource = penstock.resource([frame], name="rows", incremental=cursor)
    if missing == "raise":
        with step_raises(IncrementalCursorPathHasValueNone):
            pipeline.run(resource)
        return

    pipeline.run(resource)

    result = sorted(row["id"] for row in pipeline.dataset()["rows"].spark().select("id").collect())
    assert result == ([1, 2, 3] if missing == "include" else [1, 3])


@pytest.mark.every_mode
def test_a_large_boundary_is_found_by_a_new_machine_and_deleted_once_it_is_past(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    many = MAX_HASHES_PER_CURSOR + 5

    def run(machine: str, day: str, count: int) -> int:
        rows = [{"id": number, "day": day} for number in range(count)]
        cursor = penstock.sources.incremental("day")
        resource = penstock.resource([rows], name="days", primary_key="id", incremental=cursor)
        info = make_pipeline(location, tmp_path / machine, spark).run(resource)
        return loaded(info, "days")

    assert run("first", "2024-01-01", many) == many
    files = boundary_files(location)
    assert run("second", "2024-01-01", many + 1) == 1
    assert boundary_files(location) == files
    assert run("second", "2024-01-02", 2) == 2
    assert (len(files), boundary_files(location)) == (1, [])


def boundary_files(location: str) -> list[str]:
    return packages_of(location).store.names("cursors")
