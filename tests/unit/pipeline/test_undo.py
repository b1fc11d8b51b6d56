"""Undo of complete loads of Delta tables by path, without Spark."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from tests.step_failures import step_raises

import penstock
from penstock import destinations
from penstock.errors import UndoRefused, UsageError
from penstock.package import FileStorage
from penstock.package.file_ledger import FileLedger

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from penstock.pipeline.pipeline import Pipeline

ORDERS = [
    {"id": 1, "buyer": {"name": "Ada"}, "items": [{"sku": "A7", "qty": 2}, {"sku": "B2", "qty": 1}]},
    {"id": 2, "buyer": {"name": "Grace"}, "items": [{"sku": "A7", "qty": 5}]},
]
pytestmark = pytest.mark.usefixtures("no_spark")


def pipeline_at(root: Path, machine: str = "one") -> Pipeline:
    """Return the pipeline on a machine with a working folder of its own."""
    lake = destinations.delta(bucket_url=str(root / "lake"))
    return penstock.pipeline("shop", destination=lake, dataset_name="shop", pipelines_dir=str(root / machine))


@pytest.fixture
def pipeline(tmp_path: Path) -> Pipeline:
    return pipeline_at(tmp_path)


@penstock.resource(name="orders")
def orders(
    last: int, updated: penstock.sources.incremental[int] = penstock.sources.incremental("id")
) -> Iterator[dict[str, Any]]:
    """Yield the orders up to one that were not loaded before."""
    for number in range((updated.last_value or 0) + 1, last + 1):
        yield {"id": number, "items": [{"sku": f"A{number}"}]}


def order_ids(pipeline: Pipeline) -> list[int]:
    """Return the ids of the visible orders."""
    return sorted(pipeline.dataset()["orders"].df()["id"])


def test_the_last_load_is_taken_back_by_a_load_of_its_own(tmp_path: Path, pipeline: Pipeline) -> None:
    pipeline.run(ORDERS, table_name="orders")
    second = pipeline.run([{"id": 3, "note": "new", "gifts": [1]}], table_name="orders")

    undo = pipeline.undo()

    assert list(undo.undone) == second.loads_ids
    dataset = pipeline.dataset()
    assert dataset.row_counts() == {"orders": 2, "orders__items": 3}
    assert "note" not in dataset["orders"].df().columns
    assert "note" not in pipeline.default_schema.tables["orders"].columns
    assert "orders__gifts" not in pipeline.default_schema.tables
    record = FileLedger(FileStorage(str(tmp_path / "lake" / "shop"))).last_commit("shop")
    assert record is not None
    assert (record.load_id, record.sequence, record.undoes) == (undo.load_id, 3, undo.undone)


def test_the_next_run_reads_again_what_was_undone(tmp_path: Path, pipeline: Pipeline) -> None:
    for last in (2, 4, 6):
        pipeline.run(orders(last))

    pipeline.undo(last=2)

    assert order_ids(pipeline) == [1, 2]
    other_machine = pipeline_at(tmp_path, "two")
    other_machine.run(orders(7))
    assert order_ids(other_machine) == [1, 2, 3, 4, 5, 6, 7]
    assert other_machine.dataset().row_counts() == {"orders": 7, "orders__items": 7}


def test_undos_do_not_count_and_an_undone_load_is_not_undone_again(pipeline: Pipeline) -> None:
    infos = [pipeline.run(orders(last)) for last in (1, 2, 3)]
    pipeline.undo(infos[2].loads_ids[0])
    pipeline.run(orders(5))
    pipeline.undo()

    undo = pipeline.undo()

    assert list(undo.undone) == infos[1].loads_ids
    assert order_ids(pipeline) == [1]
    with step_raises(UsageError, match="no load of 'shop' that can be undone"):
        pipeline.undo(infos[2].loads_ids[0])


def test_the_first_load_is_undone_with_its_tables_and_its_state(tmp_path: Path, pipeline: Pipeline) -> None:
    pipeline.run(orders(2))

    undo = pipeline.undo()

    assert {planned.version for planned in undo.tables} == {None}
    assert pipeline.dataset().row_counts() == {}
    assert not (tmp_path / "lake" / "shop" / "orders").exists()
    assert pipeline.state["sources"] == {}
    pipeline.run(orders(3))
    assert order_ids(pipeline) == [1, 2, 3]


def test_a_replace_is_undone(pipeline: Pipeline) -> None:
    pipeline.run(ORDERS, table_name="orders", write_disposition="replace")
    pipeline.run([{"id": 9}], table_name="orders", write_disposition="replace")

    pipeline.undo()

    assert order_ids(pipeline) == [1, 2]
    assert pipeline.dataset().row_counts() == {"orders": 2, "orders__items": 3}


def test_an_older_load_is_undone_only_with_those_after_it(pipeline: Pipeline) -> None:
    infos = [pipeline.run(orders(last)) for last in (1, 2, 3)]

    with step_raises(UsageError, match="number 2 from the newest, and last is 1"):
        pipeline.undo(infos[1].loads_ids[0])

    assert order_ids(pipeline) == [1, 2, 3]
    pipeline.undo(infos[1].loads_ids[0], last=2)
    assert order_ids(pipeline) == [1]


def test_rows_that_others_changed_are_reported_and_overwritten_only_by_force(
    tmp_path: Path, pipeline: Pipeline
) -> None:
    for last in (1, 2):
        pipeline.run(orders(last))
    table = str(tmp_path / "lake" / "shop" / "orders")
    row = DeltaTable(table).to_pyarrow_table().slice(0, 1)
    write_deltalake(
        table, row.set_column(row.schema.get_field_index("id"), "id", pa.array([77])), mode="append"
    )

    plan = pipeline.undo(dry_run=True)
    with step_raises(UndoRefused, match=r"orders has version 2 \(WRITE\) by another writer") as refused:
        pipeline.undo()

    assert plan.other_changes == ("orders has version 2 (WRITE) by another writer",)
    assert refused.value.can_force
    assert order_ids(pipeline) == [1, 2, 77]
    pipeline.undo(force=True)
    assert order_ids(pipeline) == [1]


def test_rewritten_files_with_the_same_rows_are_no_change(tmp_path: Path, pipeline: Pipeline) -> None:
    for last in (1, 2):
        pipeline.run(orders(last))
    DeltaTable(str(tmp_path / "lake" / "shop" / "orders")).optimize.compact()

    pipeline.undo()

    assert order_ids(pipeline) == [1]


def test_a_version_without_its_files_is_refused_with_the_table(tmp_path: Path, pipeline: Pipeline) -> None:
    pipeline.run(ORDERS, table_name="orders", write_disposition="replace")
    pipeline.run([{"id": 9}], table_name="orders", write_disposition="replace")
    table = DeltaTable(str(tmp_path / "lake" / "shop" / "orders"))
    table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)

    plan = pipeline.undo(dry_run=True)
    with step_raises(UndoRefused, match="1 files of version 0 of orders were deleted") as refused:
        pipeline.undo(force=True)

    assert len(plan.obstacles) == 1
    assert not refused.value.can_force
    assert order_ids(pipeline) == [9]


def test_an_undo_is_refused_while_packages_are_pending(pipeline: Pipeline) -> None:
    pipeline.run(orders(1))
    pipeline.extract(orders(2))

    with step_raises(UsageError, match="packages are pending"):
        pipeline.undo()

    pipeline.run()
    assert order_ids(pipeline) == [1, 2]


def test_a_reader_that_was_opened_before_an_undo_keeps_its_rows(pipeline: Pipeline) -> None:
    for last in (1, 2):
        pipeline.run(orders(last))
    dataset = pipeline.dataset()
    before = dataset.row_counts()

    pipeline.undo()

    assert dataset.row_counts() == before == {"orders": 2, "orders__items": 2}


def test_a_machine_without_working_folder_undoes(tmp_path: Path, pipeline: Pipeline) -> None:
    for last in (1, 2):
        pipeline.run(orders(last))
    shutil.rmtree(tmp_path / "one")

    pipeline_at(tmp_path, "two").undo()

    assert order_ids(pipeline_at(tmp_path, "three")) == [1]
