"""Loads into a file of DuckDB whose rows Spark writes, as it does for larger tables."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.destinations.duckdb.databases import DATASET

import penstock
from penstock import destinations
from penstock.testing import documents

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from penstock.pipeline.pipeline import Pipeline


pytestmark = pytest.mark.at_length


def order(number: int, **values: Any) -> dict[str, Any]:
    return {
        "id": number,
        "name": f"größe {number} '`\"",
        "price": Decimal("12.5") + number,
        "at": datetime(2024, 1, 2, 3, 4, number, 5, tzinfo=UTC),
        "day": date(2024, 1, 1 + number),
        "raw": bytes([number, 255]),
        "number_or_text": number if number % 2 else f"n{number}",
        "buyer": {"name": f"b{number}"},
        "items": [{"sku": f"{number}-{index}", "tags": ["x", "y"]} for index in range(number)],
        **values,
    }


FIRST = [order(1), order(2), order(3)]
SECOND = [order(2, name="new", items=[]), order(3), order(4, note="later"), order(4, note="last")]
LOADS: dict[str, tuple[dict[str, Any], tuple[list[dict[str, Any]], ...]]] = {
    "append": ({}, (FIRST, SECOND)),
    "replace": ({"write_disposition": "replace"}, (FIRST, SECOND, [])),
    "merge": (
        {"write_disposition": "merge", "primary_key": "id", "columns": {"gone": {"hard_delete": True}}},
        (FIRST, SECOND, [order(1, gone=True)]),
    ),
    "upsert": (
        {"write_disposition": {"disposition": "merge", "strategy": "upsert"}, "primary_key": "id"},
        (FIRST, SECOND),
    ),
    "history": (
        {"write_disposition": {"disposition": "merge", "strategy": "scd2"}},
        (FIRST, SECOND[:3], FIRST[:1]),
    ),
}


def pipeline_by(writer: str, folder: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Pipeline:
    """Return a pipeline whose rows Spark writes, or the driver."""
    monkeypatch.setenv("NORMALIZE__DRIVER_ROWS", "0" if writer == "spark" else "20000")
    return penstock.pipeline(
        "shop",
        destination=destinations.duckdb(str(folder / f"{writer}.duckdb")),
        dataset_name=DATASET,
        pipelines_dir=str(folder / writer),
        spark=spark,
    )


def stored(pipeline: Pipeline) -> dict[str, Any]:
    """Return the rows of all tables as documents, and how many of them are current."""
    dataset = pipeline.dataset()
    names = [name for name in dataset.tables if not name.startswith("_dlt")]
    tables = {name: dataset[name].arrow().to_pylist() for name in names}
    current = Counter(row["_dlt_valid_to"] is None for row in tables["orders"] if "_dlt_valid_to" in row)
    columns = {name: sorted(dataset[name].columns) for name in names}
    for rows in tables.values():
        for row in rows:
            row.pop("_dlt_valid_from", None)
            row.pop("_dlt_valid_to", None)
    return {"columns": columns, "current": current, **documents(tables, "orders")}


@pytest.mark.parametrize("kind", list(LOADS))
def test_rows_of_spark_end_as_those_of_the_driver(
    kind: str, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    hints, loads = LOADS[kind]
    results = {}

    for writer in ("spark", "driver"):
        pipeline = pipeline_by(writer, tmp_path, spark, monkeypatch)
        for rows in loads:
            pipeline.run(penstock.resource(rows, name="orders", **hints))
        results[writer] = stored(pipeline)

    assert results["spark"] == results["driver"]


def test_tables_of_spark_are_read_by_duckdb_and_by_spark(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = pipeline_by("spark", tmp_path, spark, monkeypatch)
    pipeline.run(FIRST, table_name="orders")

    orders = pipeline.dataset()["orders"].select("id", "name", "price", "at", "day", "raw")

    expected = [tuple(row[name] for name in orders.columns) for row in FIRST]
    assert sorted(orders.fetchall()) == expected
    assert sorted(orders.df()["id"]) == orders.arrow().sort_by("id")["id"].to_pylist() == [1, 2, 3]
    frame = pipeline.dataset()["orders"].spark().select(*orders.columns).orderBy("id")
    rows = [row.asDict() for row in frame.collect()]
    assert [(row["id"], row["name"], row["price"], row["day"]) for row in rows] == [
        (number, name, price, day) for number, name, price, _, day, _ in expected
    ]
    assert pipeline.dataset()["orders__items"].spark().count() == 6


def test_frames_are_loaded_with_their_nested_rows(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = pipeline_by("spark", tmp_path, spark, monkeypatch)
    flat = spark.range(5).selectExpr("id", "CAST(id AS STRING) AS name", "CAST(id / 3 AS DOUBLE) AS ratio")
    nested = spark.sql("SELECT 1 AS id, array(named_struct('sku', 'A7'), named_struct('sku', 'B2')) AS items")

    pipeline.run(penstock.resource(flat, name="numbers"))
    pipeline.run(penstock.resource(flat, name="numbers", write_disposition="merge", primary_key="id"))
    pipeline.run(penstock.resource(nested, name="orders"))

    dataset = pipeline.dataset()
    assert sorted(dataset["numbers"].select("id", "name").fetchall()) == [(n, str(n)) for n in range(5)]
    assert sorted(dataset["orders__items"].select("sku").fetchall()) == [("A7",), ("B2",)]


def test_refused_rows_are_in_the_quarantine_table(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NORMALIZE__QUARANTINE", "true")
    pipeline = pipeline_by("spark", tmp_path, spark, monkeypatch)
    pipeline.run([{"id": 1}], table_name="orders")

    pipeline.run(
        [{"id": 2}, {"id": "two"}], table_name="orders", schema_contract={"data_type": "discard_row"}
    )

    dataset = pipeline.dataset()
    assert sorted(dataset["orders"].select("id").fetchall()) == [(1,), (2,)]
    (table,) = (name for name in dataset.tables if "quarantine" in name)
    assert "two" in str(dataset[table].fetchall())
