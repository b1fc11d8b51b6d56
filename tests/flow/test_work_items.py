"""Resources with work items, whole runs: on executors, on the driver, stopped and taken up again."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest
from tests.flow.making import make, packages_of

import penstock
from penstock.errors import MissingOnExecutors, ResourceFailed
from penstock.extract.waves.ledger import has_waves

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def tripled(number: int) -> int:
    return number * 3


@penstock.resource(work_items=range(12), primary_key="id")
def orders(item: int, lines: int = 2) -> Any:
    for line in range(lines):
        yield {"id": item * 100 + line, "triple": tripled(item), "tags": ["a"] * line}


@pytest.mark.every_mode
def test_items_run_on_executors_that_know_nothing_of_the_function(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    pipeline = make(location, tmp_path, spark)

    pipeline.run(orders(lines=3).add_filter(lambda row: row["id"] != 0))

    rows = pipeline.dataset()["orders"].spark().collect()
    assert sorted(row["id"] for row in rows) == [
        item * 100 + line for item in range(12) for line in range(3) if item or line
    ]
    assert {row["triple"] for row in rows} == {item * 3 for item in range(12)}
    assert pipeline.dataset().row_counts()["orders__tags"] == 36


@pytest.mark.every_mode
def test_an_error_comes_back_with_its_item_and_traceback_and_what_was_done_before_is_kept(
    spark: SparkSession, location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXTRACT__SLOTS", "1")  # so the first wave has eight items
    numbers = list(range(9))
    pipeline = make(location, tmp_path, spark)

    def reciprocals(item: int, faults: int = 0) -> Any:
        yield {"id": item, "part": 1 / (8 - item) if item == 8 and not faults else 1}

    # The argument stays the same: only the function changes.
    with pytest.raises(ResourceFailed) as failed:
        pipeline.run(penstock.resource(reciprocals, name="parts", work_items=numbers))
    (left,) = packages_of(location).with_status("new")
    assert (failed.value.resource, failed.value.item) == ("parts", "8")
    assert "ZeroDivisionError" in failed.value.cause
    assert "in reciprocals" in failed.value.traceback
    assert has_waves(left.store)

    def mended(item: int, faults: int = 0) -> Any:
        yield {"id": item, "part": -1 - faults}

    mended.__qualname__ = reciprocals.__qualname__
    info = pipeline.run(penstock.resource(mended, name="parts", work_items=numbers))

    rows = pipeline.dataset()["parts"].spark().collect()
    assert info.loads_ids == [left.load_id]
    assert sorted(row["id"] for row in rows) == numbers
    assert [row["id"] for row in rows if row["part"] == -1] == [8]


def test_a_package_with_waves_is_dropped_when_the_resource_is_not_run_again(
    spark: SparkSession, location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXTRACT__SLOTS", "1")
    pipeline = make(location, tmp_path, spark)

    def breaks(item: int, size: int = 1) -> Any:
        yield {"id": size // (8 - item)}

    broken = penstock.resource(breaks, name="parts", work_items=range(9))
    with pytest.raises(ResourceFailed):
        pipeline.run(broken)
    (left,) = packages_of(location).with_status("new")

    pipeline.run()
    assert has_waves(left.store), "a run without data leaves it alone"
    with pytest.raises(ResourceFailed):
        pipeline.run(broken(size=2))
    (other,) = packages_of(location).with_status("new")
    assert other.load_id != left.load_id, "other arguments make it another resource"
    pipeline.run([{"id": 1}], table_name="items")

    assert packages_of(location).with_status("new") == []
    assert pipeline.dataset().row_counts() == {"items": 1}


def test_where_executors_have_no_network_threads_of_the_driver_do_it(
    spark: SparkSession, location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXTRACT__WORK_ITEMS", "driver")
    threads: set[str] = set()
    pipeline = make(location, tmp_path, spark)

    @penstock.resource(work_items=range(20))
    def here(item: int) -> Any:
        threads.add(threading.current_thread().name)
        yield {"id": item}

    pipeline.run(here.add_limit(10))

    assert pipeline.dataset().row_counts() == {"here": 10}
    assert all(name.startswith("penstock-extract") for name in threads)


def test_items_of_a_frame_tables_by_row_and_odd_rows(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    frame = spark.createDataFrame(
        [(number, f"kind_{number % 2}") for number in range(6)], "id int, kind string"
    )
    pipeline = make(location, tmp_path, spark)

    @penstock.resource(work_items=frame, table_name=lambda row: row.get("kind", "rest"))
    def events(item: dict[str, Any]) -> Any:
        yield [item, {"kind": "kind_0", "odd": 1j}]

    info = pipeline.run([events, penstock.resource([{"id": 9}], name="kind_1")])

    assert pipeline.dataset().row_counts() == {"kind_0": 3, "kind_1": 4, "_dlt_quarantine": 6}
    assert any("6 could not be written" in note for note in info.notes)


def test_a_transformer_of_work_items_runs_on_the_driver(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    seen: list[int] = []
    pipeline = make(location, tmp_path, spark)

    @penstock.transformer
    def details(row: dict[str, Any]) -> Any:
        seen.append(row["id"])
        yield {"id": row["id"], "detail": True}

    pipeline.run(orders(lines=1) | details)

    assert sorted(seen) == [item * 100 for item in range(12)]
    assert pipeline.dataset().row_counts() == {"details": 12}


def test_state_is_not_to_be_had_on_executors(spark: SparkSession, location: str, tmp_path: Path) -> None:
    @penstock.resource(work_items=[1])
    def asks(item: int) -> Any:
        yield {"id": item, "state": penstock.current.resource_state()}

    # This Python has penstock on executors too; those of a cluster lack it.
    with pytest.raises((ResourceFailed, MissingOnExecutors), match="state"):
        make(location, tmp_path, spark).run(asks)
