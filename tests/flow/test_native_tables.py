"""The tables of a pipeline as objects of the libraries deltalake and pyiceberg."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import penstock
from penstock.common.libs.deltalake import get_delta_tables
from penstock.common.libs.pyiceberg import get_iceberg_tables
from penstock.errors import TableNotFound

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from penstock.interfaces import Destination

ORDERS: list[Any] = [{"id": 1, "tags": ["a", "b"]}, {"id": 2, "tags": []}, {"id": 1j}]


def load_orders(destination: Destination, tmp_path: Path, spark: SparkSession, **hints: Any) -> Any:
    """Load orders, of which one is quarantined; return another pipeline of this name, without a session."""
    names: dict[str, Any] = {"pipeline_name": "shop", "dataset_name": "raw", "destination": destination}
    data = penstock.resource(ORDERS, name="orders", **hints)
    penstock.pipeline(**names, pipelines_dir=tmp_path / "first", spark=spark).run(data)
    return penstock.pipeline(**names, pipelines_dir=tmp_path / "second")


@pytest.fixture
def without_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("a session was opened")

    monkeypatch.setattr("penstock.spark.session_pool.SessionPool.session", refuse)


def test_delta_tables_are_opened_by_path_without_a_session(
    spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    lake = penstock.destinations.delta(str(tmp_path / "lake"))
    pipeline = load_orders(lake, tmp_path, spark)
    request.getfixturevalue("without_sessions")

    tables = get_delta_tables(pipeline)

    assert set(tables) == {"orders", "orders__tags"}
    assert sorted(tables["orders"].to_pyarrow_table()["id"].to_pylist()) == [1, 2]
    assert tables["orders__tags"].to_pyarrow_table()["value"].to_pylist() == ["a", "b"]
    assert set(get_delta_tables(pipeline, "orders")) == {"orders"}
    assert "_dlt_quarantine" in get_delta_tables(pipeline, include_dlt_tables=True)
    with pytest.raises(TableNotFound, match="'order' does not exist in schema 'shop'") as unknown:
        get_delta_tables(pipeline, "orders", "order")
    assert unknown.value.hint == "did you mean 'orders'? Known: orders, orders__tags"


def test_tables_of_a_bucket_are_opened_if_their_format_is_delta(spark: SparkSession, tmp_path: Path) -> None:
    bucket = penstock.destinations.filesystem(str(tmp_path / "lake"))
    pipeline = load_orders(bucket, tmp_path, spark, table_format="delta")
    penstock.pipeline(
        "shop", destination=bucket, dataset_name="raw", pipelines_dir=tmp_path / "first", spark=spark
    ).run([{"id": 1}], table_name="plain")

    assert set(get_delta_tables(pipeline)) == {"orders", "orders__tags"}


def test_iceberg_tables_are_opened_by_path_without_a_session(
    spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    pytest.importorskip("pyiceberg", reason="users install it themselves")
    lake = penstock.destinations.iceberg(str(tmp_path / "lake"))
    pipeline = load_orders(lake, tmp_path, spark)
    request.getfixturevalue("without_sessions")

    tables = get_iceberg_tables(pipeline)

    assert set(tables) == {"orders", "orders__tags"}
    assert sorted(tables["orders"].scan().to_arrow()["id"].to_pylist()) == [1, 2]
    with pytest.raises(TableNotFound, match="'order' does not exist"):
        get_iceberg_tables(pipeline, "order")
