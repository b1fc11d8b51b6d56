"""Runs of small Delta tables start no Spark: every test would fail if a session were built."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from tests.step_failures import step_raises

import penstock
from penstock import destinations
from penstock.destinations.delta.delta_log import DeltaLog
from penstock.errors import SlotTaken, SparkNotAvailable, TableNotFound
from penstock.package import Packages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.destinations.delta.delta_log import Snapshot
    from penstock.interfaces import AppliedJob, LoadMark
    from penstock.pipeline.pipeline import Pipeline

ORDERS = [
    {"id": 1, "buyer": {"name": "Ada"}, "items": [{"sku": "A7", "qty": 2}, {"sku": "B2", "qty": 1}]},
    {"id": 2, "buyer": {"name": "Grace"}, "items": [{"sku": "A7", "qty": 5}]},
]


pytestmark = pytest.mark.usefixtures("no_spark")


@pytest.fixture
def pipeline(tmp_path: Path) -> Pipeline:
    lake = destinations.delta(bucket_url=str(tmp_path / "lake"))
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


def test_a_table_that_is_replaced_by_nothing_is_emptied(pipeline: Pipeline) -> None:
    @penstock.resource(write_disposition="replace")
    def orders(rows: list[Any]) -> Iterator[Any]:
        yield from rows

    pipeline.run(orders(ORDERS))
    pipeline.run(orders([]))
    assert pipeline.dataset().row_counts() == {"orders": 0, "orders__items": 0}
    pipeline.run(orders(ORDERS))
    assert pipeline.dataset().row_counts() == {"orders": 2, "orders__items": 3}


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


def test_nothing_is_sealed_after_a_load_that_another_run_has_sealed_meanwhile(
    pipeline: Pipeline, tmp_path: Path
) -> None:
    """The state and the schema of this run are those before that load."""
    packages = Packages.at(str(tmp_path / "lake/demo/_dlt_pkg/shop"))

    def rows() -> Iterator[dict[str, int]]:
        yield {"id": 3}
        last = packages.last_sealed()
        assert last is not None
        other = replace(last, sequence=last.sequence + 1, load_id="17.5")
        packages.package("17.5").create()
        assert packages.seal(other)
        packages.commit(other)
        packages.finish("17.5")

    pipeline.run(ORDERS, table_name="orders")
    with step_raises(SlotTaken, step="load"):
        pipeline.run(rows(), table_name="orders")

    assert packages.slots.last() == 2
    pipeline.run()
    assert pipeline.dataset().row_counts()["orders"] == 3


@pytest.mark.parametrize("write_disposition", ["append", "replace"])
def test_a_commit_whose_job_is_tried_again_is_not_repeated(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch, write_disposition: str
) -> None:
    applied_job = DeltaLog.applied_job
    failed_versions: list[int] = []

    def fail_once(log: DeltaLog, version: int, mark: LoadMark, snapshot: Snapshot) -> AppliedJob:
        if not failed_versions:
            failed_versions.append(version)
            raise TimeoutError
        return applied_job(log, version, mark, snapshot)

    monkeypatch.setattr(DeltaLog, "applied_job", fail_once)
    info = pipeline.run(ORDERS, table_name="orders", write_disposition=write_disposition)

    assert failed_versions == [0]
    assert "(was committed before)" in str(info)
    assert pipeline.dataset().row_counts() == {"orders": 2, "orders__items": 3}


def test_a_job_is_repeated_whose_commit_another_writer_overwrites(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline.run(ORDERS, table_name="orders")
    applied_job = DeltaLog.applied_job
    overwritten: list[Path] = []

    def overwrite_first(log: DeltaLog, version: int, mark: LoadMark, snapshot: Snapshot) -> AppliedJob:
        applied = applied_job(log, version, mark, snapshot)
        if not overwritten:
            commit = Path(log.store.path(f"{log.name}/_delta_log/{version:020}.json"))
            overwritten.append(commit)
            commit.write_text('{"commitInfo":{"operation":"SET TBLPROPERTIES"}}\n')
        return applied

    monkeypatch.setattr(DeltaLog, "applied_job", overwrite_first)
    pipeline.run(ORDERS, table_name="orders")
    assert overwritten
    assert pipeline.dataset().row_counts() == {"orders": 4, "orders__items": 6}


def test_the_log_has_a_checkpoint_of_each_tenth_version_once_it_is_not_the_newest(
    pipeline: Pipeline, tmp_path: Path
) -> None:
    def checkpoints() -> list[str]:
        return [path.name for path in (tmp_path / "lake/demo/items/_delta_log").glob("*.checkpoint.parquet")]

    for number in range(11):
        pipeline.run([{"id": number}], table_name="items")
    assert checkpoints() == []
    pipeline.run([{"id": 11}], table_name="items")
    assert checkpoints() == [f"{10:020}.checkpoint.parquet"]
    assert sorted(pipeline.dataset()["items"].df()["id"]) == list(range(12))


@pytest.mark.parametrize("disposition", ["append", "replace"])
def test_new_columns_and_variants_are_added_by_the_commit_of_their_rows(
    pipeline: Pipeline, tmp_path: Path, disposition: Any
) -> None:
    pipeline.run(ORDERS, table_name="orders", write_disposition=disposition)
    changed = [{"id": "x7", "coupon": 5, "items": [{"sku": "C1", "qty": 1, "gift": True}]}]
    pipeline.run(changed, table_name="orders", write_disposition=disposition)
    orders = pipeline.dataset()["orders"].df()
    assert {"coupon", "id__v_text", "buyer__name"} <= {*orders.columns}
    assert orders["coupon"].dropna().tolist() == [5]
    assert orders["id__v_text"].dropna().tolist() == ["x7"]
    assert pipeline.dataset()["orders__items"].df()["gift"].dropna().tolist() == [True]
    assert len(orders) == (3 if disposition == "append" else 1)
    columns = {field.name for field in DeltaTable(str(tmp_path / "lake/demo/orders")).schema().fields}
    assert {"coupon", "id__v_text"} <= columns
    pipeline.run(ORDERS, table_name="orders", write_disposition=disposition)
    assert pipeline.dataset()["orders"].df()["id"].notna().sum() == (4 if disposition == "append" else 2)


def test_a_merge_stops_the_run_before_a_commit_if_spark_is_missing(pipeline: Pipeline) -> None:
    pipeline.run(ORDERS, table_name="orders")
    with pytest.raises(penstock.errors.PenstockError) as caught:
        pipeline.run(ORDERS, table_name="orders", write_disposition="merge", primary_key="id")
    assert isinstance(caught.value.__cause__, SparkNotAvailable) or "this test has none" in str(caught.value)
    assert pipeline.dataset().row_counts() == {"orders": 2, "orders__items": 3}


def test_a_notebook_shows_the_columns_of_a_table_and_the_query_of_other_relations(pipeline: Pipeline) -> None:
    pipeline.run(ORDERS, table_name="orders")
    orders = pipeline.dataset()["orders"]

    table, query = orders._repr_html_(), orders.where("id", "gt", 1)._repr_html_()
    joined = orders.join("orders__items")._repr_html_()

    assert "buyer__name" in table
    assert "Ada" not in table + query, "rows are not read"
    assert "`id` &gt; 1" in query
    assert "<pre>" not in joined, "its columns are those that Spark has"


def test_row_counts_are_shown_as_numbers_in_a_notebook(pipeline: Pipeline) -> None:
    pipeline.run(ORDERS, table_name="orders")

    assert not hasattr(pipeline.dataset().row_counts(), "_repr_html_")
