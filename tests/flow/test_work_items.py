"""Resources with work items, whole runs: on executors, on the driver, killed and resumed."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from tests.conftest import process_env
from tests.flow.factories import make_pipeline, packages_of
from tests.step_failures import step_raises

import penstock
from penstock.errors import MissingOnExecutors, ResourceFailed
from penstock.extract.waves.checkpoints import WaveCheckpoints, has_waves

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def tripled(number: int) -> int:
    return number * 3


@penstock.resource(work_items=range(12), primary_key="id")
def orders(item: int, lines: int = 2) -> Any:
    for line in range(lines):
        yield {"id": item * 100 + line, "triple": tripled(item), "tags": ["a"] * line}


@pytest.mark.handful
@pytest.mark.every_mode
def test_items_run_on_executors_that_cannot_import_the_function(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    pipeline = make_pipeline(location, tmp_path, spark)

    pipeline.run(orders(lines=3).add_filter(lambda row: row["id"] != 0))

    rows = pipeline.dataset()["orders"].spark().collect()
    assert sorted(row["id"] for row in rows) == [
        item * 100 + line for item in range(12) for line in range(3) if item or line
    ]
    assert {row["triple"] for row in rows} == {item * 3 for item in range(12)}
    assert pipeline.dataset().row_counts()["orders__tags"] == 36


@pytest.mark.every_mode
def test_an_error_has_its_item_and_traceback_and_finished_items_are_kept(
    spark: SparkSession, location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXTRACT__SLOTS", "1")  # so the first wave has eight items
    numbers = list(range(9))
    pipeline = make_pipeline(location, tmp_path, spark)

    def reciprocals(item: int, faults: int = 0) -> Any:
        yield {"id": item, "part": 1 / (8 - item) if item == 8 and not faults else 1}

    # The argument is unchanged: only the function changes.
    with step_raises(ResourceFailed) as failed:
        pipeline.run(penstock.resource(reciprocals, name="parts", work_items=numbers))
    (rest,) = packages_of(location).with_status("new")
    assert (failed.value.resource, failed.value.item) == ("parts", "8")
    assert "ZeroDivisionError" in failed.value.cause
    assert "in reciprocals" in failed.value.traceback
    assert has_waves(rest.store)

    def mended(item: int, faults: int = 0) -> Any:
        yield {"id": item, "part": -1 - faults}

    mended.__qualname__ = reciprocals.__qualname__
    info = pipeline.run(penstock.resource(mended, name="parts", work_items=numbers))

    rows = pipeline.dataset()["parts"].spark().collect()
    assert info.loads_ids == [rest.load_id]
    assert sorted(row["id"] for row in rows) == numbers
    assert [row["id"] for row in rows if row["part"] == -1] == [8]


@pytest.mark.at_length
def test_a_package_with_waves_is_dropped_when_the_resource_is_not_run_again(
    spark: SparkSession, location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXTRACT__SLOTS", "1")
    pipeline = make_pipeline(location, tmp_path, spark)

    def breaks(item: int, size: int = 1) -> Any:
        yield {"id": size // (8 - item)}

    broken = penstock.resource(breaks, name="parts", work_items=range(9))
    with step_raises(ResourceFailed):
        pipeline.run(broken)
    (rest,) = packages_of(location).with_status("new")

    pipeline.run()
    assert has_waves(rest.store), "a run without data leaves it alone"
    with step_raises(ResourceFailed):
        pipeline.run(broken(size=2))
    (other,) = packages_of(location).with_status("new")
    assert other.load_id != rest.load_id, "other arguments make it another resource"
    pipeline.run([{"id": 1}], table_name="items")

    assert packages_of(location).with_status("new") == []
    assert pipeline.dataset().row_counts() == {"items": 1}


def test_without_network_on_executors_driver_threads_run_the_items(
    spark: SparkSession, location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXTRACT__WORK_ITEMS", "driver")
    threads: set[str] = set()
    pipeline = make_pipeline(location, tmp_path, spark)

    @penstock.resource(work_items=range(20))
    def here(item: int) -> Any:
        threads.add(threading.current_thread().name)
        yield {"id": item}

    pipeline.run(here.add_limit(10))

    assert pipeline.dataset().row_counts() == {"here": 10}
    assert all(name.startswith("penstock-extract") for name in threads)


@pytest.mark.at_length
def test_items_of_a_frame_may_yield_rows_of_several_tables_and_unencodable_rows(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    frame = spark.createDataFrame(
        [(number, f"kind_{number % 2}") for number in range(6)], "id int, kind string"
    )
    pipeline = make_pipeline(location, tmp_path, spark)

    @penstock.resource(work_items=frame, table_name=lambda row: row.get("kind", "rest"))
    def events(item: dict[str, Any]) -> Any:
        yield [item, {"kind": "kind_0", "odd": 1j}]

    info = pipeline.run([events, penstock.resource([{"id": 9}], name="kind_1")])

    assert pipeline.dataset().row_counts() == {"kind_0": 3, "kind_1": 4, "_dlt_quarantine": 6}
    assert any("6 could not be written" in note for note in info.notes)


@pytest.mark.at_length
def test_a_transformer_of_work_items_runs_on_the_driver(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    seen: list[int] = []
    pipeline = make_pipeline(location, tmp_path, spark)

    @penstock.transformer
    def details(row: dict[str, Any]) -> Any:
        seen.append(row["id"])
        yield {"id": row["id"], "detail": True}

    pipeline.run(orders(lines=1) | details)

    assert sorted(seen) == [item * 100 for item in range(12)]
    assert pipeline.dataset().row_counts() == {"details": 12}


def test_resource_state_is_not_available_on_executors(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    @penstock.resource(work_items=[1])
    def asks(item: int) -> Any:
        yield {"id": item, "state": penstock.current.resource_state()}

    # Local executors can import penstock; those of a cluster cannot.
    with step_raises((ResourceFailed, MissingOnExecutors), match="state"):
        make_pipeline(location, tmp_path, spark).run(asks)


@pytest.mark.every_mode
def test_the_rate_limit_holds_across_all_executors(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    @penstock.resource(work_items=range(50), rate_limit="20/s")
    def calls(item: int) -> Any:
        yield {"id": item, "at": time.time()}

    pipeline = make_pipeline(location, tmp_path, spark)
    pipeline.run(calls)

    moments = sorted(row["at"] for row in pipeline.dataset()["calls"].spark().collect())
    assert len(moments) == 50
    assert max(sum(first <= at < first + 1 for at in moments) for first in moments) <= 21


@pytest.mark.at_length
def test_a_resource_that_fails_on_executors_may_be_skipped(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    def breaks(item: int) -> Any:
        yield {"id": 1 // item}

    broken = penstock.resource(breaks, name="parts", work_items=[1, 0])
    pipeline = make_pipeline(location, tmp_path, spark)

    info = pipeline.run([broken, orders(lines=1)], on_error="continue")

    assert pipeline.dataset().row_counts() == {"orders": 12}
    assert "ZeroDivisionError" in info.failed_resources["parts"].message
    with step_raises(ResourceFailed):
        pipeline.run(broken, on_error="continue")


KILLED = """
import os, signal, time
import penstock

def calls(item, folder, deadly):
    with open(f"{folder}/{os.getpid()}.txt", "a") as notes:
        notes.write(f"{item}\\n")
    if item == deadly and os.path.exists(f"{folder}/driver"):
        os.kill(int(open(f"{folder}/driver").read()), signal.SIGKILL)
        time.sleep(60)
    yield [{"id": item * 10 + number} for number in range(10)]

def run(location, folder, spark=None):
    lake = penstock.destinations.delta(location)
    pipeline = penstock.pipeline(
        "quick", pipelines_dir=f"{folder}/p", destination=lake, dataset_name="demo", spark=spark
    )
    resource = penstock.resource(calls, work_items=range(60))
    return pipeline.run(resource(folder=folder, deadly=40))
"""
START = """
import sys
with open(f"{sys.argv[2]}/driver", "w") as note:
    note.write(str(os.getpid()))
run(sys.argv[1], sys.argv[2])
"""


def test_a_killed_run_is_resumed_and_only_its_unfinished_wave_runs_again(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    folder = tmp_path / "calls"
    folder.mkdir()
    environment = {**process_env(), "EXTRACT__SLOTS": "2"}
    command = [sys.executable, "-c", KILLED + START, location, str(folder)]
    killed = subprocess.run(command, check=False, capture_output=True, env=environment, cwd=tmp_path)
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    (rest,) = packages_of(location).with_status("new")
    done = {int(item) for item in called(folder)}
    (identity,) = rest.store.names("waves")
    finished = WaveCheckpoints(rest.store, identity).done_counts().total()
    (folder / "driver").unlink()

    space: dict[str, Any] = {"__name__": "elsewhere"}
    exec(KILLED, space)  # the program of the killed run
    info = space["run"](location, str(folder), spark)

    rows = make_pipeline(location, tmp_path, spark).dataset()["calls"].fetchall()
    again = [item for item, count in Counter(called(folder)).items() if count > 1]
    assert info.loads_ids == [rest.load_id]
    assert sorted(row[0] for row in rows) == list(range(600))
    assert finished >= 16, "the first wave was written down"
    assert 0 < len(again) <= len(done) - finished


def called(folder: Path) -> list[str]:
    return [line for path in folder.glob("*.txt") for line in path.read_text().splitlines()]
