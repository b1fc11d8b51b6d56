"""Replays of rows that contracts refused, on each table format, read by the driver and by Spark."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import pytest

import penstock
from penstock.pipeline import quarantine_reader

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from penstock.pipeline.pipeline import Pipeline

AT: Final = datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)
STRICT: Final = {"columns": "discard_row", "data_type": "discard_row"}
FIRST: Final[list[dict[str, Any]]] = [{"id": 1, "price": 5, "items": [{"sku": "A1"}]}]
REFUSED: Final[list[dict[str, Any]]] = [
    {"id": 2, "price": 6, "note": 'a "new", {column}', "at": AT, "items": [{"sku": "A2"}, {"sku": "B2"}]},
    {"id": 3, "price": "free", "note": "x"},
    {"id": 4, "price": 8, "note": "y", "items": [{"sku": "A4"}]},
]
NESTED: Final[list[dict[str, Any]]] = [
    {"id": 5, "price": 9, "items": [{"sku": "A5"}, {"sku": "B5", "size": 1}]}
]


@pytest.fixture(
    params=[
        "delta",
        *(pytest.param(kind, marks=pytest.mark.at_length) for kind in ("iceberg", "filesystem", "duckdb")),
    ]
)
def shop(request: pytest.FixtureRequest, location: str, tmp_path: Path, spark: SparkSession) -> Pipeline:
    """Return a pipeline whose quarantine has three root rows of two rules, and a nested row."""
    lake = (
        penstock.destinations.duckdb(str(tmp_path / "shop.duckdb"))
        if request.param == "duckdb"
        else getattr(penstock.destinations, request.param)(bucket_url=location)
    )
    pipeline = penstock.pipeline(
        "shop", destination=lake, dataset_name="demo", pipelines_dir=tmp_path / "pipelines", spark=spark
    )
    pipeline.run(orders(FIRST))
    pipeline.run(orders([*REFUSED, *NESTED]), schema_contract=STRICT)
    return pipeline


def orders(rows: list[dict[str, Any]]) -> Any:
    return penstock.resource(rows, name="orders", primary_key="id", write_disposition="append")


@pytest.fixture(params=["driver", "spark"])
def reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Read the quarantine by Spark, however small it is, or by the driver."""
    if request.param == "spark":
        monkeypatch.setattr(quarantine_reader, "MAX_DRIVER_ROWS", 0)
    return str(request.param)


def rows_of(pipeline: Pipeline, table: str, *columns: str) -> list[tuple[Any, ...]]:
    """Return the visible rows of a table, sorted."""
    rows = pipeline.dataset()[table].arrow().select(list(columns)).to_pylist()
    return sorted((tuple(row.values()) for row in rows), key=str)


@pytest.mark.usefixtures("reader")
def test_rows_are_loaded_once_and_those_refused_again_stay_with_both_reasons(shop: Pipeline) -> None:
    quarantine = {row[0]: row for row in rows_of(shop, "_dlt_quarantine", "_dlt_id", "raw", "reason", "item")}
    assert len(quarantine) == 4

    replay = shop.replay_quarantine(schema_contract={"data_type": "discard_row"})

    assert (replay.replayed, replay.refused_again, replay.skipped) == (2, 1, 1)
    assert rows_of(shop, "orders", "id", "price") == [(1, 5), (2, 6), (4, 8), (5, 9)]
    assert rows_of(shop, "orders", "note", "at")[:2] == [('a "new", {column}', AT), ("y", None)]
    assert rows_of(shop, "orders__items", "sku") == [("A1",), ("A2",), ("A4",), ("A5",), ("B2",)]
    columns = ("_dlt_id", "raw", "reason", "item", "rule", "resource_name", "_dlt_load_id")
    left = rows_of(shop, "_dlt_quarantine", *columns)
    (again,) = (row for row in left if "free" in row[1])
    (nested,) = (row for row in left if "free" not in row[1])
    first = quarantine[again[0]]
    assert again[:2] == first[:2]
    assert again[2].startswith(f"{first[2]}; refused again by load {replay.load_ids[0]}: ")
    assert "price" in again[2]
    assert again[3:] == (first[3], "data_type: discard_row", "orders", replay.load_ids[0])
    assert nested[:4] == quarantine[nested[0]]
    assert nested[6] != replay.load_ids[0]


@pytest.mark.at_length
def test_rows_that_were_refused_twice_are_loaded_once_the_contract_allows_it(
    shop: Pipeline, reader: str
) -> None:
    again = shop.replay_quarantine()
    assert (again.replayed, again.refused_again) == (0, 3), reader

    replay = shop.replay_quarantine(schema_contract="evolve")

    assert rows_of(shop, "orders", "id") == [(1,), (2,), (3,), (4,), (5,)]
    assert (replay.replayed, replay.refused_again, replay.skipped) == (3, 0, 1)
    assert rows_of(shop, "_dlt_quarantine", "table_name") == [("orders__items",)]
