"""Undo of complete loads on each table format, with merges, replaced tables, scd2 and new columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest
from tests.step_failures import step_raises

import penstock
from penstock.errors import UndoRefused
from penstock.testing.cases import Crash

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

FIRST: Final[list[dict[str, Any]]] = [{"id": 1, "price": 5, "tags": ["x", "y"]}, {"id": 2, "price": 6}]
SECOND: Final[list[dict[str, Any]]] = [{"id": 2, "price": 7, "tags": ["z"]}, {"id": 3, "price": 8}]
WIDER: Final[list[dict[str, Any]]] = [{"id": 2, "price": 7, "colour": "red"}]
Shown = dict[str, list[Any]]


class Shop:
    """One dataset in one table format."""

    def __init__(self, kind: str, location: str, folder: Path, spark: SparkSession) -> None:
        self.kind, self._folder, self._spark = kind, folder, spark
        self.lake = getattr(penstock.destinations, kind)(bucket_url=location)

    def pipeline(self, machine: str = "one") -> penstock.Pipeline:
        return penstock.pipeline(
            "shop",
            pipelines_dir=self._folder / machine,
            destination=self.lake,
            dataset_name="demo",
            spark=self._spark,
        )

    def run(self, rows: list[dict[str, Any]], disposition: Any) -> str:
        """Load rows, and return the id of the load."""

        def orders() -> Iterator[Any]:
            state = penstock.current.resource_state()
            state["times"] = state.get("times", 0) + 1
            yield from rows

        resource = penstock.resource(orders, name="orders", primary_key="id", write_disposition=disposition)
        return str(self.pipeline().run(resource).loads_ids[0])

    def shown(self) -> Shown:
        """Return what another machine reads: ids with prices, tags, columns, and runs in the state."""
        pipeline = self.pipeline("reader")
        pipeline.sync_destination()
        dataset = pipeline.dataset()
        orders = dataset["orders"].arrow()
        tags = dataset["orders__tags"].arrow().to_pylist() if "orders__tags" in dataset.tables else []
        resources = pipeline.state["sources"]["shop"]["resources"]
        return {
            "orders": sorted((row["id"], row["price"]) for row in orders.to_pylist()),
            "tags": sorted(row["value"] for row in tags),
            "columns": sorted(orders.column_names),
            "times": [resources["orders"]["times"]],
        }


@pytest.fixture(params=["delta", pytest.param("iceberg", marks=pytest.mark.at_length)])
def shop(request: pytest.FixtureRequest, location: str, tmp_path: Path, spark: SparkSession) -> Shop:
    return Shop(request.param, location, tmp_path, spark)


@pytest.fixture
def files(location: str, tmp_path: Path, spark: SparkSession) -> Shop:
    return Shop("filesystem", location, tmp_path, spark)


def undo_that_dies(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Undo a load, and die after the first table was restored."""
    client_type: Any = type(shop.pipeline().reading_client())
    restore, tables = client_type.restore, list[str]()

    def dying(self: Any, planned: Any, *arguments: Any, **options: Any) -> Any:
        if tables:
            raise Crash
        tables.append(planned.table)
        return restore(self, planned, *arguments, **options)

    monkeypatch.setattr(client_type, "restore", dying)
    with pytest.raises(Crash):
        shop.pipeline().undo()
    monkeypatch.undo()


def test_a_merge_with_a_new_column_is_undone_and_loaded_again(shop: Shop) -> None:
    shop.run(FIRST, "merge")
    before = shop.shown()
    shop.run(SECOND, "merge")
    wider = shop.run(WIDER, "merge")
    after = shop.shown()

    undo = shop.pipeline("two").undo(last=2)

    assert shop.shown() == before
    assert undo.undone[-1] == wider
    shop.run(SECOND, "merge")
    shop.run(WIDER, "merge")
    assert shop.shown() == after


def test_an_undo_that_dies_between_two_tables_shows_one_or_the_other_and_is_completed(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.run(FIRST, "merge")
    before = shop.shown()
    shop.run(SECOND, "merge")
    after = shop.shown()
    undo_that_dies(shop, monkeypatch)

    # A sealed package decides the state of the next run, and not yet what readers of tables see.
    assert shop.shown() == {**after, "times": before["times"]}
    shop.pipeline("two").run()
    assert shop.shown() == before


def test_a_pending_undo_is_aborted(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.run(FIRST, "merge")
    shop.run(SECOND, "merge")
    after = shop.shown()
    undo_that_dies(shop, monkeypatch)

    shop.pipeline().drop_pending_packages()

    assert shop.shown() == after
    shop.run(WIDER, "merge")
    assert shop.shown()["orders"] == [(1, 5), (2, 7), (3, 8)]


def test_a_replaced_table_is_undone(shop: Shop) -> None:
    shop.run(FIRST, "replace")
    before = shop.shown()
    shop.run(SECOND, "replace")

    shop.pipeline().undo()

    assert shop.shown()["orders"] == before["orders"]
    assert shop.shown()["tags"] == before["tags"]


def test_appended_files_are_undone_and_replaced_ones_are_refused(files: Shop) -> None:
    files.run(FIRST, "append")
    before = files.shown()
    files.run(SECOND, "append")
    files.run(WIDER, "append")

    files.pipeline().undo(last=2)

    assert files.shown() == before
    files.run(SECOND, "append")
    assert files.shown()["orders"] == [(1, 5), (2, 6), (2, 7), (3, 8)]
    files.run(WIDER, "replace")
    with step_raises(UndoRefused, match="a load that replaces rows deletes the replaced files"):
        files.pipeline().undo(force=True)
    assert files.shown()["orders"] == [(2, 7)]


def test_the_first_load_is_undone_with_its_tables(files: Shop) -> None:
    files.run(FIRST, "append")

    files.pipeline().undo()

    assert files.pipeline("reader").dataset().row_counts() == {}
    files.run(SECOND, "append")
    assert files.shown()["orders"] == [(2, 7), (3, 8)]
