"""Two runs of one pipeline: the second is refused while the first one holds the lease."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest
from tests.conftest import process_env
from tests.flow.factories import make_pipeline, packages_of
from tests.step_failures import step_raises

from penstock.errors import LeaseLost, PipelineLocked
from penstock.package.control_file import encode_control

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

SLOW = """
import sys, time
import penstock

def rows():
    for number in range(100_000):
        yield {"id": number}
        if number == 1_000:
            print("rows are coming", flush=True)
        if number > 1_000:
            time.sleep(0.05)

lake = penstock.destinations.delta(sys.argv[1])
penstock.pipeline("quick", pipelines_dir=sys.argv[2], destination=lake, dataset_name="demo").run(rows)
"""


def begun(location: str, tmp_path: Path) -> subprocess.Popen[str]:
    """Another process in the middle of its extraction."""
    command = [sys.executable, "-c", SLOW, location, str(tmp_path / "pipelines")]
    running = subprocess.Popen(
        command,
        env=process_env(),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert running.stdout is not None
    assert running.stdout.readline() == "rows are coming\n"
    return running


@pytest.mark.parametrize("end", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.at_length)])
def test_a_second_run_is_refused_until_the_first_ends_and_partial_packages_are_not_loaded(
    spark: SparkSession, location: str, tmp_path: Path, end: signal.Signals
) -> None:
    first = begun(location, tmp_path)
    try:
        with pytest.raises(PipelineLocked) as caught:
            make_pipeline(location, tmp_path, spark).run([{"id": 1}], table_name="items")
    finally:
        first.send_signal(end)
        first.communicate()

    facts = vars(caught.value)
    assert (facts["process"], facts["host"], facts["pipeline"]) == (first.pid, socket.gethostname(), "quick")
    assert 0 <= facts["age"] < 300
    rest = packages_of(location).with_status("new")
    assert len(rest) == 1

    info = make_pipeline(location, tmp_path, spark).run([{"id": 1}], table_name="items")

    assert len(info.packages) == 1
    assert make_pipeline(location, tmp_path, spark).dataset().row_counts() == {"items": 1}
    assert packages_of(location).with_status("new") == []


def test_a_run_that_lost_its_lease_stops_without_marking_or_sealing_a_package(
    spark: SparkSession, location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUN__LEASE_BEAT", "0.2")
    store = packages_of(location).store

    def rows() -> Any:
        yield {"id": 1}
        # Another machine takes the next epoch while this one extracts.
        epoch = max(int(name.split(".")[0]) for name in store.names("lease"))
        holder = store.read(f"lease/{epoch:010d}.json")
        assert holder is not None
        store.put(f"lease/{epoch + 1:010d}.json", holder)
        beating = [thread for thread in threading.enumerate() if thread.name == "penstock-lease"]
        for thread in beating:
            thread.join(60)  # a lost lease has no heartbeat
        assert beating
        assert not any(thread.is_alive() for thread in beating)

    with step_raises(LeaseLost):
        make_pipeline(location, tmp_path, spark).run(rows)

    assert packages_of(location).slots.last() == 0
    # The other machine may have deleted partial packages: nothing of them may count.
    assert packages_of(location).with_status("extracted") == []
    store.put("lease/0000000002.released", encode_control({"token": "of another machine"}))
    info = make_pipeline(location, tmp_path, spark).run([{"id": 2}], table_name="items")
    assert [package.sequence for package in info.packages] == [1]
