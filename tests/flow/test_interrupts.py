"""SIGTERM during a run with Spark: everything is released, and the next run finishes the load."""

from __future__ import annotations

import os
import signal
import threading
import time
from functools import reduce
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import DataFrame
from tests.flow.factories import make_pipeline

import penstock
from penstock.interfaces.progress import Collector

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

ROWS = [{"id": number, "tags": ["x", "y"]} for number in range(3)]
TABLES = {"items": 3, "items__tags": 6, "others": 3}


def resources(*, stopped: bool = False) -> list[Any]:
    def others() -> Iterator[Any]:
        yield ROWS[:1]
        if stopped:
            os.kill(os.getpid(), signal.SIGTERM)
        yield ROWS[1:]

    mapped = penstock.resource(others, name="others").add_map(lambda row: {"id": row["id"]})
    return [penstock.resource(ROWS, name="items"), mapped]


class Stopping(Collector):
    """Sends SIGTERM when the first job of a load runs."""

    def __init__(self) -> None:
        super().__init__()
        self.sent = False

    def mark(self, name: str, state: str, *, size: int | None = None, message: str | None = None) -> None:
        if state == "running" and not self.sent:
            self.sent = True
            os.kill(os.getpid(), signal.SIGTERM)


def check_stopped(pipeline: penstock.Pipeline, step: str) -> None:
    trace = pipeline.last_trace
    assert trace is not None
    assert trace.failed_step is not None
    assert trace.failed_step.step == step
    assert str(trace.failed_step.error).startswith("stopped by signal SIGTERM; run it again: ")
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_run_interrupted_in_its_source_leaves_nothing_and_the_next_one_extracts_again(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    pipeline = make_pipeline(location, tmp_path, spark)

    with pytest.raises(SystemExit) as stopped:
        pipeline.run(resources(stopped=True))

    assert stopped.value.code == 128 + signal.SIGTERM
    check_stopped(pipeline, "extract")
    assert not pipeline.has_pending_data
    pipeline.run(resources())
    assert pipeline.dataset().row_counts() == TABLES


def test_a_run_interrupted_in_its_load_records_its_jobs_and_the_next_one_finishes_it(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    pipeline = make_pipeline(location, tmp_path, spark)
    pipeline.collector = Stopping()

    with pytest.raises(SystemExit) as stopped:
        pipeline.run(resources())

    assert stopped.value.code == 128 + signal.SIGTERM
    check_stopped(pipeline, "load")
    (waiting,) = pipeline.list_normalized_load_packages()
    jobs = pipeline.get_load_package_info(waiting).jobs
    assert not jobs.get("started_jobs")
    assert jobs["completed_jobs"]
    assert pipeline.run().loads_ids == [waiting]
    assert pipeline.dataset().row_counts() == TABLES


def wait_until_idle(spark: SparkSession) -> None:
    """Wait until no job has run for a while; the time limit of the test bounds it."""
    quiet_since = time.monotonic()
    while time.monotonic() - quiet_since < 5:
        time.sleep(0.05)
        if active_jobs(spark):
            quiet_since = time.monotonic()


def active_jobs(spark: SparkSession) -> list[int]:
    return list(spark.sparkContext.statusTracker().getActiveJobsIds())


@pytest.mark.at_length
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("number", "error"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)]
)
@pytest.mark.parametrize("when", ["while its job runs", "before its job is submitted"])
def test_a_signal_during_a_spark_call_cancels_the_job_and_leaves_spark_usable(
    spark: SparkSession,
    location: str,
    tmp_path: Path,
    number: signal.Signals,
    error: type[BaseException],
    when: str,
) -> None:
    pipeline, before = make_pipeline(location, tmp_path, spark), signal.getsignal(signal.SIGINT)
    # To plan a query of many branches takes seconds, and its job is submitted after that.
    branches = 1 if when == "while its job runs" else 150
    endless_range = reduce(DataFrame.union, [spark.range(10**14)] * branches)

    def stop_in_call() -> None:
        time.sleep(0.5)
        while branches == 1 and not active_jobs(spark):
            time.sleep(0.05)  # if the job never starts, the time limit of the test ends this
        os.kill(os.getpid(), number)

    def endless() -> Iterator[Any]:
        rows = endless_range.selectExpr("max(hash(id)) AS id")
        threading.Thread(target=stop_in_call).start()
        yield rows.collect()

    with pytest.raises(error):
        pipeline.run(endless, table_name="items")

    wait_until_idle(spark)
    assert signal.getsignal(signal.SIGINT) is before
    assert [spark.range(count).count() for count in (5, 6, 7)] == [5, 6, 7]
    pipeline.run([{"id": 1}], table_name="items")
    assert pipeline.dataset().row_counts() == {"items": 1}
