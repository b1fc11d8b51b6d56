"""Loads into a destination of a third party that loads files, staged or not, and limits names and types."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from tests.destinations.warehouse import STAGED, UNAVAILABLE, rows_of, warehouse

import penstock

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from pyspark.sql import SparkSession

    from penstock.interfaces import Destination

ORDERS = [{"id": 1, "tags": ["x", "y"]}, {"id": 2, "tags": ["z"]}]


def make_pipeline(
    tmp_path: Path, spark: SparkSession, destination: Destination, **options: Any
) -> penstock.Pipeline:
    return penstock.pipeline(
        "shop", tmp_path / "work", destination=destination, spark=spark, dataset_name="demo", **options
    )


def test_rows_are_loaded_from_files_in_the_staging_bucket(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUN__KEEP_DATA", "true")
    stage, house = tmp_path / "stage", tmp_path / "house"
    pipeline = make_pipeline(
        tmp_path,
        spark,
        warehouse(house, **STAGED),
        staging=penstock.destinations.filesystem(str(stage)),
    )

    pipeline.run(ORDERS, table_name="orders")
    pipeline.run([{"id": 3}], table_name="orders", loader_file_format="jsonl")
    pipeline.run([{"id": 4, "tags": ["w"]}], table_name="lists", write_disposition="replace")
    pipeline.run([{"id": 5, "tags": []}], table_name="lists", write_disposition="replace")

    assert sorted(row["id"] for row in rows_of(house / "demo", "orders")) == [1, 2, 3]
    assert sorted(row["value"] for row in rows_of(house / "demo", "orders__tags")) == ["x", "y", "z"]
    assert rows_of(house / "demo", "lists") == rows_of(house / "demo_staging", "lists") == [{"id": 5}]
    assert rows_of(house / "demo", "lists__tags") == [], "a chain is moved from staging as a whole"
    assert len(json.loads((house / "demo" / "orders" / "_files.json").read_text())) == 2
    files = {path.suffix for path in stage.rglob("data/loader_files/orders.*/*/part-*")}
    assert files == {".parquet", ".json"}
    assert len(list((house / "demo" / "_loads").iterdir())) == 4


def test_files_and_tables_follow_the_capabilities(spark: SparkSession, tmp_path: Path) -> None:
    house = tmp_path / "house"
    destination = warehouse(
        house,
        preferred_loader_file_format="parquet",
        supported_loader_file_formats=("parquet",),
        recommended_file_size=100,
        naming_convention="sql_cs_v1",
        casefold_identifier=str.upper,
        decimal_precision=(10, 2),
        supports_tz_aware_datetime=False,
        max_table_nesting=0,
        max_column_identifier_length=20,
    )
    row = {
        "userName": "ada",
        "USERNAME": "Ada",
        "price": Decimal("1.25"),
        "at": datetime(2026, 11, 15, 12, tzinfo=UTC),
        "tags": [1, 2],
        "a" * 30: True,
    }

    make_pipeline(tmp_path, spark, destination).run([row], table_name="Orders")

    (loaded,) = rows_of(house / "demo", "Orders")
    tagged, long = (name for name in loaded if name.startswith(("USERNAME_", "aaa")))
    assert loaded == {
        "userName": "ada",
        tagged: "Ada",
        "price": "1.25",
        "at": "2026-11-15 12:00:00",
        "tags": "[1,2]",
        long: True,
    }
    assert len(long) == 20


def test_files_are_written_once_for_a_job_that_is_retried(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUN__KEEP_DATA", "true")
    house = tmp_path / "house"
    destination = warehouse(house, preferred_loader_file_format="csv", supported_loader_file_formats=("csv",))
    pipeline = make_pipeline(tmp_path, spark, destination)
    (house / "demo").mkdir(parents=True)
    (house / "demo" / UNAVAILABLE).touch()

    pipeline.run([{"id": 1, "text": "a, b"}], table_name="orders")

    assert rows_of(house / "demo", "orders") == [{"id": 1, "text": "a, b"}]
    assert not (house / "demo" / UNAVAILABLE).exists(), "the first try failed"
    assert len(list((tmp_path / "work").rglob("data/loader_files/orders.*/*"))) == 1
