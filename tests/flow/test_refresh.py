"""Refresh of tables and states: each mode on each table format, with crashes between old and new."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

import penstock
from penstock.interfaces import Destination
from penstock.testing.cases import Crash, CrashingDestination

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from penstock.interfaces import TRefreshMode

KINDS: Final = ("delta", "iceberg", "filesystem")
MODES: Final[tuple[TRefreshMode, ...]] = ("drop_sources", "drop_resources", "drop_data")
OLD: Final[list[dict[str, Any]]] = [
    {"id": 1, "price": 5, "tags": ["x", "y"]},
    {"id": 2, "price": 6, "tags": ["z"]},
]
# Another type for the key, another column, and nothing nested: nothing of this fits into the old tables.
NEW: Final[list[dict[str, Any]]] = [{"id": "a7", "colour": "red"}]
ROWS: Final[list[dict[str, Any]]] = [{"id": 9, "price": 7}]
Shown = dict[str, list[Any]]


class Shop:
    """One dataset in one table format."""

    def __init__(self, kind: str, location: str, folder: Path, spark: SparkSession) -> None:
        make: Callable[..., Destination] = getattr(penstock.destinations, kind)
        self.lake, self._folder, self.spark = make(bucket_url=location), folder, spark

    def pipeline(self, destination: Destination | None = None, **options: Any) -> penstock.Pipeline:
        return penstock.pipeline(
            "shop",
            pipelines_dir=self._folder / "pipelines",
            destination=destination or self.lake,
            dataset_name="demo",
            spark=self.spark,
            **options,
        )

    def begin(self) -> None:
        self.pipeline().run([orders(OLD), buyers()])

    def dying(self, at: int, *, after: bool) -> penstock.Pipeline:
        mortal = CrashingDestination(self.lake.reference, at=at, after=after)
        return self.pipeline(Destination(self.lake.destination_name, mortal, self.lake.arguments))

    def shown(self) -> Shown:
        dataset = self.pipeline().dataset()
        names = [name for name in dataset.tables if not name.startswith("_dlt")]
        key = {"orders__tags": "value"}
        return {
            name: sorted(row[key.get(name, "id")] for row in dataset[name].arrow().to_pylist())
            for name in names
        }


def orders(rows: list[dict[str, Any]]) -> Any:
    def read() -> Iterator[Any]:
        state = penstock.current.resource_state()
        state["times"] = state.get("times", 0) + 1
        yield from rows

    return penstock.resource(read, name="orders")


def buyers() -> Any:
    return penstock.resource([{"id": 3}], name="buyers")


def each(*few: tuple[str, str]) -> pytest.MarkDecorator:
    """Parametrize every table format with every mode; CI runs the named ones."""
    cases = [
        pytest.param(kind, mode, marks=() if (kind, mode) in few else pytest.mark.at_length)
        for kind in KINDS
        for mode in MODES
    ]
    return pytest.mark.parametrize(("shop", "mode"), cases, indirect=["shop"])


@pytest.fixture(params=["delta", *(pytest.param(kind, marks=pytest.mark.at_length) for kind in KINDS[1:])])
def shop(request: pytest.FixtureRequest, location: str, tmp_path: Path, spark: SparkSession) -> Shop:
    return Shop(request.param, location, tmp_path, spark)


def after(mode: TRefreshMode) -> tuple[list[dict[str, Any]], Shown]:
    """The data of the second run, and the expected content after it."""
    result: dict[TRefreshMode, tuple[list[dict[str, Any]], Shown]] = {
        "drop_sources": (NEW, {"orders": ["a7"]}),
        "drop_resources": (NEW, {"orders": ["a7"], "buyers": [3]}),
        "drop_data": (ROWS, {"orders": [9], "orders__tags": [], "buyers": [3]}),
    }
    return result[mode]


@each(("delta", "drop_sources"), ("iceberg", "drop_resources"), ("filesystem", "drop_data"))
def test_a_refreshed_table_holds_only_new_rows(shop: Shop, mode: TRefreshMode) -> None:
    rows, expected = after(mode)
    shop.begin()

    info = shop.pipeline().run(orders(rows), refresh=mode)

    assert shop.shown() == expected
    assert {table.table: table.rows for table in info.packages[0].tables}["orders"] == 1
    pipeline = shop.pipeline()
    assert pipeline.state["sources"]["shop"]["resources"]["orders"] == {"times": 1}
    columns = set(pipeline.dataset()["orders"].columns)
    assert ("price" in columns) is (mode == "drop_data")
    assert ("buyers" in pipeline.default_schema.tables) is (mode != "drop_sources")
    if mode != "drop_data":
        assert pipeline.default_schema.previous_hashes == ()
    shop.pipeline().run(orders(rows))
    assert shop.shown()["orders"] == sorted([*expected["orders"], *expected["orders"]])


@pytest.mark.at_length
def test_a_frame_without_rows_leaves_the_table_empty(shop: Shop) -> None:
    shop.begin()
    nothing = shop.spark.createDataFrame([], "id bigint, price bigint")

    shop.pipeline().run(penstock.resource([nothing], name="orders"), refresh="drop_data")

    assert shop.shown() == {"orders": [], "orders__tags": [], "buyers": [3]}


@each()
def test_through_a_crash_of_a_refresh_readers_see_all_old_rows_or_all_new_rows(
    shop: Shop, mode: TRefreshMode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOAD__WORKERS", "1")
    rows, new = after(mode)
    # The first job takes effect without a result; the load is committed, and cleaned up afterwards or not.
    for at, is_after in ((1, True), (2, False), (2, True)):
        folder = tmp_path / f"{at}-{is_after}"
        place = Shop(shop.lake.destination_name, str(folder / "lake"), folder, shop.spark)
        place.begin()
        old = place.shown()
        with pytest.raises(Crash):
            place.dying(at, after=is_after).run(orders(rows), refresh=mode)

        assert place.shown() == (old if at == 1 else new), f"step {at}, after={is_after}"
        place.pipeline().run()
        assert place.shown() == new, f"step {at}, after={is_after}"


@each()
def test_an_aborted_refresh_restores_the_old_rows(
    shop: Shop, mode: TRefreshMode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOAD__WORKERS", "1")
    rows, new = after(mode)
    shop.begin()
    old, columns = shop.shown(), shop.pipeline().dataset()["orders"].columns
    with pytest.raises(Crash):
        shop.dying(1, after=True).run(orders(rows), refresh=mode)
    assert shop.shown() == old

    shop.pipeline().drop_pending_packages()

    assert shop.shown() == old
    assert shop.pipeline().dataset()["orders"].columns == columns
    assert shop.pipeline().state["sources"]["shop"]["resources"]["orders"] == {"times": 1}
    shop.pipeline().run(orders(rows), refresh=mode)
    assert shop.shown() == new


@pytest.mark.at_length
@pytest.mark.parametrize("kind", ["delta", "iceberg"])
@pytest.mark.parametrize("strategy", ["delete-insert", "upsert", "scd2"])
def test_refreshed_merge_tables_start_from_scratch(
    kind: str, strategy: str, location: str, tmp_path: Path, spark: SparkSession
) -> None:
    shop = Shop(kind, location, tmp_path, spark)
    options: dict[str, Any] = {
        "write_disposition": {"disposition": "merge", "strategy": strategy},
        "primary_key": "id",
    }
    rows = [{"id": 1, "n": 1, "tags": [1]}, {"id": 2, "n": 1, "tags": [2]}]
    again = [{"id": 2, "n": 2, "tags": [3]}, {"id": 2, "n": 3, "tags": [4]}]
    expected = 2 if strategy == "scd2" else 1

    modes: tuple[TRefreshMode, ...] = ("drop_resources", "drop_data")
    for mode in modes:
        shop.pipeline().run(penstock.resource(rows, name="orders", **options))
        shop.pipeline().run(penstock.resource(again, name="orders", **options), refresh=mode)
        assert shop.shown()["orders"] == [2] * expected, mode
        assert shop.shown()["orders__tags"] == ([3, 4] if strategy == "scd2" else [4]), mode


@pytest.mark.at_length
def test_a_refresh_with_an_empty_source_drops_its_tables_and_a_later_merge_creates_them_again(
    shop: Shop,
) -> None:
    shop.begin()

    shop.pipeline().run(orders([]), refresh="drop_resources")

    assert shop.shown() == {"buyers": [3]}
    shop.pipeline().run(orders(NEW))
    assert shop.shown() == {"orders": ["a7"], "buyers": [3]}


def test_pending_packages_are_loaded_before_a_refresh(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUN__PENDING", "continue")
    shop.begin()
    shop.pipeline().extract(buyers())

    info = shop.pipeline().run(orders(NEW), refresh="drop_resources")

    assert len(info.loads_ids) == 2
    assert shop.shown() == {"orders": ["a7"], "buyers": [3, 3]}
