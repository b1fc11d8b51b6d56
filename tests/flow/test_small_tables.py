"""Small tables that the driver writes equal those that Spark writes, down to ids and types."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.flow.test_spark_job_count import jobs_so_far

import penstock
from penstock.normalize.run import normalize
from penstock.normalize.settings import NormalizeConfiguration
from penstock.package import Packages
from penstock.schema import Schema, naming_convention

if TYPE_CHECKING:
    import pytest
    from pyspark.sql import DataFrame, SparkSession

    from penstock.normalize.normalized import NormalizedPackage
    from penstock.package import JobFile, Package

ROWS: list[dict[str, Any]] = [
    {
        "Id": number,
        "name": f"größe {number} '`\"",
        "price": Decimal("12.5") + number,
        "wei": 10**20 + number,
        "ratio": number / 3,
        "at": datetime(2024, 1, 2, 3, 4, number, 5, tzinfo=UTC),
        "on": date(2024, 1, 1 + number),
        "clock": time(3, 4, number),
        "raw": bytes([number, 255]),
        "flag": number % 2 == 0,
        "mixed": number if number % 2 else "a word",
        "number_or_text": number if number % 2 else str(number),
        "none": None,
        "owner": {"login": f"u{number}", "seen": "2024-01-02T03:04:05Z", "odd key": 1},
        "commits": [{"sha": f"{number}-{index}", "files": ["a", {"b": 1}, None]} for index in range(2)],
        "grid": [[1, 2], [], [3]],
        "empty": [],
    }
    for number in range(5)
]
DEEP = {"l": [{"m": [{"n": number}]} for number in range(3)], "_dlt_id": "mine"}


def normalized_jobs(
    package: Package, spark: SparkSession, driver_rows: int
) -> tuple[NormalizedPackage, dict[str, JobFile]]:
    normalized = normalize(
        package,
        Schema("shop"),
        spark=spark,
        naming=naming_convention(),
        table_extras={},
        settings=NormalizeConfiguration(driver_rows=driver_rows),
    )
    jobs = {entry.table: package.job(entry.job) for entry in normalized.tables}
    return normalized, jobs


def test_tables_of_the_driver_equal_those_of_spark(spark: SparkSession, location: str) -> None:
    @penstock.source
    def shop() -> Any:
        return [
            penstock.resource(ROWS, name="Orders"),
            penstock.resource([DEEP, {"l": [{"m": [{"n": 7}]}]}], name="deep"),
            penstock.resource([1, "two", None], name="values"),
            penstock.resource([{"a": {"b": 1}}], name="as_json", max_table_nesting=0),
        ]

    info = penstock.pipeline("small", pipelines_dir=str(Path(location) / "pipelines")).extract(shop())
    package = Packages.at(info.location).package(info.loads_ids[0])

    by_spark, expected = normalized_jobs(package, spark, driver_rows=0)
    by_driver, result = normalized_jobs(package, spark, driver_rows=100)

    assert result.keys() == expected.keys()
    for name, job in expected.items():
        assert (result[name].is_flat, job.is_flat) == (True, False), name
        frame, expected_frame = result[name].frame(spark), job.frame(spark)
        assert frame.dtypes == expected_frame.dtypes, name
        assert rows(frame) == rows(expected_frame), name
    assert by_driver.schema.to_dict()["tables"] == by_spark.schema.to_dict()["tables"]
    assert by_driver.report is not None
    assert by_spark.report is not None
    for root, expected_root in zip(by_driver.report.roots, by_spark.report.roots, strict=True):
        known = {name: count for name, count in expected_root.row_counts.items() if count is not None}
        assert root.row_counts.items() >= known.items()


def rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in frame.collect()), key=lambda row: str(row[-1]) + str(row))


def test_tables_beyond_the_budget_of_the_driver_are_written_by_spark(
    spark: SparkSession, location: str
) -> None:
    pipeline = penstock.pipeline("small", pipelines_dir=str(Path(location) / "pipelines"))
    info = pipeline.extract(
        [penstock.resource([{"id": number} for number in range(8)], name=name) for name in "ab"]
    )
    package = Packages.at(info.location).package(info.loads_ids[0])

    _, jobs = normalized_jobs(package, spark, driver_rows=10)

    assert {table: job.is_flat for table, job in jobs.items()} == {"a": True, "b": False}
    assert all(job.frame(spark).count() == 8 for job in jobs.values())


def test_a_run_of_small_tables_starts_no_spark_job(
    spark: SparkSession, own: SparkSession, location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NORMALIZE__DRIVER_ROWS", "1000")
    monkeypatch.setenv("PIPELINES_DIR", str(tmp_path / "pipelines"))
    lake = penstock.destinations.delta(f"{location}/lake", commit_by_reference=True)
    pipeline = penstock.pipeline("small", destination=lake, dataset_name="shop")
    before = jobs_so_far(spark)

    pipeline.run(ROWS[:3], table_name="orders")
    pipeline.run(ROWS[3:], table_name="orders")
    pipeline.run([{"id": 1}, {"id": 2}], table_name="items")
    pipeline.run([{"id": 3}], table_name="items", write_disposition="replace")

    assert jobs_so_far(spark) == before
    counts = dict(pipeline.dataset().row_counts().fetchall())
    assert counts == {
        "orders": 5, "orders__commits": 10, "orders__commits__files": 30, "orders__grid": 15,
        "orders__grid__list": 15, "items": 1,
    }  # fmt: skip
    orders = own.read.format("delta").load(f"{location}/lake/shop/orders").orderBy("id")
    read = orders.select("id", "name", "price", "raw").collect()
    assert [tuple(row) for row in read] == [
        (row["Id"], row["name"], row["price"], row["raw"]) for row in ROWS
    ]

    pipeline.run([{"id": 4, "new": "column"}], table_name="items")

    assert dict(pipeline.dataset().row_counts().fetchall())["items"] == 2
