"""Flat DataFrames are written once: a table takes the files that extract wrote, with their ids."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.conftest import MODE
from tests.flow.factories import make_pipeline
from tests.flow.test_spark_job_count import jobs_so_far

import penstock
from penstock.package import read_job
from penstock.spark.frame_writer import write_frame

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession

    from penstock.interfaces import Destination

ALL_TYPES = """
    SELECT id, CAST(id AS TINYINT) AS tiny, CAST(id AS SMALLINT) AS small, CAST(id AS INT) AS whole,
           CAST(id / 3 AS FLOAT) AS half, id / 7 AS ratio, CAST(id * 1.25 AS DECIMAL(12,2)) AS amount,
           CAST(id AS STRING) AS name, id % 2 = 0 AS flag, CAST(CAST(id AS STRING) AS BINARY) AS raw,
           date_add(DATE '2024-01-01', CAST(id AS INT)) AS day, IF(id = 3, NULL, id) AS gap,
           timestamp_micros(1714979289123456 + id * 1000000) AS at
    FROM range(0, 50, 1, 2)"""
TABLE_TYPES = {
    "id": "bigint", "tiny": "bigint", "small": "bigint", "whole": "bigint", "half": "double",
    "ratio": "double", "amount": "decimal(12,2)", "name": "string", "flag": "boolean", "raw": "binary",
    "day": "date", "gap": "bigint", "at": "timestamp", "_dlt_load_id": "string", "_dlt_id": "string",
}  # fmt: skip


@penstock.resource(name="t")
def all_types() -> Iterator[DataFrame]:
    """Yield a frame of a session that writes timestamps as tables have them."""
    yield penstock.current.spark().sql(ALL_TYPES)


def run_job_by_job(pipeline: penstock.Pipeline, data: Any, **hints: Any) -> bool:
    """Run a pipeline; return whether the table takes the files of the frame as they are."""
    pipeline.extract(data, table_name="t", **hints)
    (load_id,) = pipeline.normalize().loads_ids
    (job,) = (
        item
        for item in pipeline.get_load_package_info(load_id).jobs["new_jobs"]
        if item.job_file_info.table_name == "t"
    )
    is_flat = read_job(job.file_path).is_flat
    pipeline.load()
    return is_flat


def write_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let extract write no system columns, so that the load writes the rows again."""
    monkeypatch.setattr(sys.modules[write_frame.__module__], "table_schema", lambda _: None)


def values(frame: DataFrame) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in frame.drop("_dlt_load_id", "_dlt_id").collect()), key=repr)


@pytest.mark.every_mode
@pytest.mark.parametrize(
    "destination", [penstock.destinations.delta, penstock.destinations.filesystem], ids=["delta", "files"]
)
def test_frames_of_all_flat_types_are_loaded_as_if_they_were_written_twice(
    spark: SparkSession,
    location: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    destination: Callable[..., Destination],
) -> None:
    once = make_pipeline(f"{location}/once", tmp_path, spark, "once", destination)
    twice = make_pipeline(f"{location}/twice", tmp_path, spark, "twice", destination)

    assert [run_job_by_job(once, all_types()) for _ in range(2)] == [True, True]
    with monkeypatch.context() as patch:
        write_twice(patch)
        assert [run_job_by_job(twice, all_types()) for _ in range(2)] == [False, False]

    result, expected = once.dataset()["t"].spark(), twice.dataset()["t"].spark()
    assert dict(result.dtypes) == dict(expected.dtypes) == TABLE_TYPES
    assert result.columns == expected.columns
    assert values(result) == values(expected)
    assert len(values(result)) == 100
    ids = [row["_dlt_id"] for row in result.select("_dlt_id").collect()]
    assert len(set(ids)) == 100
    assert all(re.fullmatch(r"[\w+/]{14}-\d+", row_id) for row_id in ids)
    assert result.select("_dlt_load_id").distinct().count() == 2
    assert once.default_schema.to_dict()["tables"]["t"] == twice.default_schema.to_dict()["tables"]["t"]


@pytest.mark.skipif(MODE == "connect", reason="the jobs of a server are not counted")
def test_one_spark_job_writes_a_flat_frame(spark: SparkSession, location: str, tmp_path: Path) -> None:
    pipeline = make_pipeline(location, tmp_path, spark)
    jobs = [jobs_so_far(spark)]

    for _ in range(2):
        pipeline.extract(all_types())
        jobs.append(jobs_so_far(spark))
        pipeline.normalize()
        jobs.append(jobs_so_far(spark))
        pipeline.load()
        jobs.append(jobs_so_far(spark))

    extracted, normalized, loaded = (jobs[number] - jobs[number - 1] for number in (4, 5, 6))
    print(f"jobs: {(extracted, normalized, loaded)}")  # noqa: T201 - the figure, shown with -s
    assert (extracted, normalized, loaded) == (1, 0, 0)
    assert len(list(Path(location).glob("demo/t/*/*.parquet"))) == 4
    assert not list(Path(location).glob("demo/t/*.parquet"))


def test_timestamps_have_bounds_for_readers(spark: SparkSession, location: str, tmp_path: Path) -> None:
    make_pipeline(location, tmp_path, spark).run(all_types())

    log = (Path(location) / "demo" / "t" / "_delta_log" / f"{0:020}.json").read_text()
    assert '\\"at\\":\\"2024-05-06T07:08:09.123Z\\"' in log


def test_a_new_column_is_added_and_a_conflicting_type_gets_a_variant(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    pipeline = make_pipeline(location, tmp_path, spark)

    are_flat = [
        run_job_by_job(pipeline, spark.sql("SELECT 1L AS id, 'a' AS name")),
        run_job_by_job(pipeline, spark.sql("SELECT 2L AS id, 'b' AS name, 2.5D AS extra")),
        run_job_by_job(pipeline, spark.sql("SELECT 'three' AS id, 'c' AS name")),
        run_job_by_job(pipeline, spark.sql("SELECT 4L AS id")),
        run_job_by_job(pipeline, spark.sql("SELECT 5 AS id, 5 AS extra")),
        run_job_by_job(pipeline, spark.sql("SELECT 6L AS `Id`")),
    ]

    assert are_flat == [True, True, False, True, False, False]
    result = pipeline.dataset()["t"].spark()
    rows = sorted((row["id"] or 0, row["id__v_text"], row["name"], row["extra"]) for row in result.collect())
    assert rows == [
        (0, "three", "c", None),
        (1, None, "a", None),
        (2, None, "b", 2.5),
        (4, None, None, None),
        (5, None, None, 5.0),
        (6, None, None, None),
    ]


def test_refused_values_and_rows_are_left_out(spark: SparkSession, location: str, tmp_path: Path) -> None:
    pipeline = make_pipeline(location, tmp_path, spark)
    run_job_by_job(pipeline, spark.sql("SELECT 1L AS id"))

    without_values = run_job_by_job(
        pipeline, spark.sql("SELECT 2L AS id, 'x' AS more"), schema_contract={"columns": "discard_value"}
    )
    without_rows = run_job_by_job(
        pipeline,
        spark.sql("SELECT * FROM VALUES (3L, NULL), (4L, 'x') AS t(id, more)"),
        schema_contract={"columns": "discard_row"},
    )

    assert (without_values, without_rows) == (False, False)
    result = pipeline.dataset()["t"].spark().drop("_dlt_load_id", "_dlt_id")
    assert sorted(tuple(row) for row in result.collect()) == [(1,), (2,), (3,)]


def test_files_replace_and_are_merged(spark: SparkSession, location: str, tmp_path: Path) -> None:
    pipeline = make_pipeline(location, tmp_path, spark)
    merge: dict[str, Any] = {"write_disposition": "merge", "primary_key": "id"}

    @penstock.resource(name="t", **merge)
    def changes() -> Any:
        yield spark.sql("SELECT id, 'first' AS name FROM range(5, 15, 1, 2)")
        yield spark.sql("SELECT id, 'last' AS name FROM range(10, 12, 1, 1)")

    are_flat = [
        run_job_by_job(pipeline, spark.sql("SELECT id, 'old' AS name FROM range(30)")),
        run_job_by_job(
            pipeline,
            spark.sql("SELECT id, 'new' AS name FROM range(0, 10, 1, 2)"),
            write_disposition="replace",
        ),
        run_job_by_job(pipeline, changes()),
    ]

    assert are_flat == [True, True, True]
    rows = {row["id"]: row["name"] for row in pipeline.dataset()["t"].spark().collect()}
    assert rows == {
        number: "new" if number < 5 else "last" if number in {10, 11} else "first" for number in range(15)
    }
    ids = pipeline.dataset()["t"].spark().select("_dlt_id").collect()
    assert len({row["_dlt_id"] for row in ids}) == 15
