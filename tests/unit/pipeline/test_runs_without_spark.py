"""Runs of small Delta tables start no Spark: every test would fail if a session were built."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import penstock
from penstock import destinations
from penstock.errors import SparkNotAvailable, TableNotFound
from penstock.spark import session as session_module

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.pipeline.pipeline import Pipeline

ORDERS = [
    {"id": 1, "buyer": {"name": "Ada"}, "items": [{"sku": "A7", "qty": 2}, {"sku": "B2", "qty": 1}]},
    {"id": 2, "buyer": {"name": "Grace"}, "items": [{"sku": "A7", "qty": 5}]},
]


@pytest.fixture(autouse=True)
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise SparkNotAvailable(reason="this test has none", hint="load small tables")

    monkeypatch.setattr(session_module, "_build", refuse)
    monkeypatch.setattr(session_module, "existing_session", lambda _: None)
    monkeypatch.setenv("NORMALIZE__DRIVER_ROWS", "20000")


@pytest.fixture
def pipeline(tmp_path: Path) -> Pipeline:
    lake = destinations.delta(bucket_url=str(tmp_path / "lake"), commit_by_reference=True)
    return penstock.pipeline(
        "shop", destination=lake, dataset_name="demo", pipelines_dir=str(tmp_path / "pipelines")
    )


def test_nested_rows_are_loaded_and_read(pipeline: Pipeline) -> None:
    pipeline.run(ORDERS, table_name="orders")
    pipeline.run(ORDERS[:1], table_name="orders")
    dataset = pipeline.dataset()
    assert dataset.row_counts() == {"orders": 3, "orders__items": 5}
    items = dataset["orders__items"].df()
    assert sorted(items["qty"]) == [1, 1, 2, 2, 5]
    orders = dataset["orders"]
    assert sorted(row[:2] for row in orders.fetchall()) == [(1, "Ada"), (1, "Ada"), (2, "Grace")]
    assert len(orders.fetchmany(2)) == len(orders.arrow(2)) == 2
    assert len(list(orders)) == orders.count() == 3


def test_all_rows_are_replaced(pipeline: Pipeline) -> None:
    pipeline.run(ORDERS, table_name="orders", write_disposition="replace")
    pipeline.run(ORDERS[1:], table_name="orders", write_disposition="replace")
    assert pipeline.dataset().row_counts() == {"orders": 1, "orders__items": 1}


def test_nested_tables_without_rows_are_emptied_by_a_replace(pipeline: Pipeline) -> None:
    pipeline.run(ORDERS, table_name="orders", write_disposition="replace")
    pipeline.run([{"id": 3, "buyer": {"name": "Edith"}}], table_name="orders", write_disposition="replace")
    assert pipeline.dataset().row_counts() == {"orders": 1, "orders__items": 0}


def test_each_type_is_read_as_spark_reads_it(pipeline: Pipeline) -> None:
    row = {
        "id": 1,
        "price": Decimal("9.75"),
        "at": datetime(2026, 5, 1, 12, 30, tzinfo=UTC),
        "day": date(2026, 5, 1),
        "weight": 0.5,
        "is_new": True,
        "picture": b"\x00\xff",
        "name": "ä",
    }
    pipeline.run([row, {"id": 2}], table_name="items")
    table = pipeline.dataset()["items"].arrow()
    assert {name: table.schema.field(name).type for name in row} == {
        "id": pa.int64(),
        "price": pa.decimal128(38, 9),
        "at": pa.timestamp("us", "UTC"),
        "day": pa.date32(),
        "weight": pa.float64(),
        "is_new": pa.bool_(),
        "picture": pa.binary(),
        "name": pa.string(),
    }
    first, second = sorted(
        pipeline.dataset()["items"].fetchall(), key=lambda values: values[table.column_names.index("id")]
    )
    values = dict(zip(table.column_names, first, strict=True))
    assert {name: values[name] for name in row} == row
    assert values["at"].tzinfo is UTC
    assert {value for name, value in zip(table.column_names, second, strict=True) if name in row} == {2, None}


def test_rows_of_an_incomplete_load_are_not_read(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline.run(ORDERS, table_name="orders")
    with monkeypatch.context() as patch:
        patch.setattr("penstock.load.run._commit_to_ledger", lambda *_: 1 / 0)
        with pytest.raises(penstock.errors.PenstockError):
            pipeline.run(ORDERS, table_name="orders")
    assert pipeline.dataset().row_counts() == {"orders": 2, "orders__items": 3}
    with pytest.raises(TableNotFound):
        pipeline.dataset()["customers"].df()
    pipeline.run()
    assert pipeline.dataset().row_counts() == {"orders": 4, "orders__items": 6}


def test_a_new_column_stops_the_run_before_a_commit_if_spark_is_missing(pipeline: Pipeline) -> None:
    pipeline.run(ORDERS, table_name="orders")
    with pytest.raises(penstock.errors.PenstockError) as caught:
        pipeline.run([{"id": 3, "coupon": "x"}], table_name="orders")
    assert isinstance(caught.value.__cause__, SparkNotAvailable) or "this test has none" in str(caught.value)
    assert pipeline.dataset().row_counts() == {"orders": 2, "orders__items": 3}
    assert len(pipeline.list_normalized_load_packages()) == 1
