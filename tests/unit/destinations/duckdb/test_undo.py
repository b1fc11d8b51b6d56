"""Undo of loads in a database, which keeps no versions: appended rows and new tables are taken back."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from tests.step_failures import step_raises
from tests.unit.destinations.duckdb.databases import pipeline_into, rows_of, tables_of

from penstock.errors import UndoRefused

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("no_spark")
FIRST: list[dict[str, Any]] = [{"id": 1, "items": [{"sku": "A7", "tags": ["x"]}, {"sku": "B2"}]}]
SECOND: list[dict[str, Any]] = [{"id": 2, "note": "new", "items": [{"sku": "C3", "tags": ["y", "z"]}]}]


def test_appended_rows_are_deleted_with_their_nested_rows_and_new_columns(tmp_path: Path) -> None:
    pipeline = pipeline_into(tmp_path)
    pipeline.run(FIRST, table_name="orders")
    second = pipeline.run([*SECOND, {"id": 3, "gifts": [1]}], table_name="orders")

    undo = pipeline.undo()

    assert list(undo.undone) == second.loads_ids
    assert rows_of(tmp_path, "SELECT id FROM orders") == [(1,)]
    assert rows_of(tmp_path, "SELECT sku FROM orders__items ORDER BY 1") == [("A7",), ("B2",)]
    assert rows_of(tmp_path, "SELECT value FROM orders__items__tags") == [("x",)]
    assert "orders__gifts" not in tables_of(tmp_path)
    assert "note" not in pipeline.dataset()["orders"].columns
    assert rows_of(tmp_path, "SELECT count(*) FROM _dlt_loads WHERE undoes IS NOT NULL") == [(1,)]
    pipeline.run(SECOND, table_name="orders")
    assert rows_of(tmp_path, "SELECT id, note FROM orders ORDER BY id") == [(1, None), (2, "new")]


def test_the_first_load_is_undone_whatever_it_did(tmp_path: Path) -> None:
    pipeline = pipeline_into(tmp_path)
    pipeline.run(FIRST, table_name="orders", write_disposition="merge", primary_key="id")

    pipeline.undo()

    assert not [name for name in tables_of(tmp_path) if not name.startswith("_dlt")]
    pipeline.run(SECOND, table_name="orders")
    assert rows_of(tmp_path, "SELECT id FROM orders") == [(2,)]


@pytest.mark.parametrize("disposition", ["replace", "merge"])
def test_replaced_and_merged_rows_are_refused(tmp_path: Path, disposition: Any) -> None:
    pipeline = pipeline_into(tmp_path)
    for rows in (FIRST, SECOND):
        pipeline.run(rows, table_name="orders", write_disposition=disposition, primary_key="id")
    before = rows_of(tmp_path, "SELECT id FROM orders ORDER BY id")

    with step_raises(UndoRefused, match="replaced or merged rows of orders, and the database keeps no old"):
        pipeline.undo(force=True)

    assert rows_of(tmp_path, "SELECT id FROM orders ORDER BY id") == before


def test_rows_that_a_user_deleted_are_reported(tmp_path: Path) -> None:
    pipeline = pipeline_into(tmp_path)
    pipeline.run(FIRST, table_name="orders")
    pipeline.run([{"id": 2}, {"id": 3}], table_name="orders")
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as connection:
        connection.execute("DELETE FROM demo.orders WHERE id = 3")

    with step_raises(UndoRefused, match="orders has 1 of the 2 rows of these loads") as refused:
        pipeline.undo()

    assert refused.value.can_force
    pipeline.undo(force=True)
    assert rows_of(tmp_path, "SELECT id FROM orders") == [(1,)]


def test_a_load_whose_manifest_is_lost_is_refused(tmp_path: Path) -> None:
    pipeline = pipeline_into(tmp_path)
    pipeline.run(FIRST, table_name="orders")
    pipeline.run(SECOND, table_name="orders")
    shutil.rmtree(tmp_path / "pipelines")

    with step_raises(UndoRefused, match="its manifest is not stored here"):
        pipeline_into(tmp_path).undo()
