"""Killed and running runs are shown on their machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from tests.unit.cli.factories import extract_package, invoke, json_output

import penstock
from penstock.pipeline.local_pipeline import LocalPipeline
from penstock.pipeline.trace import MAX_TRACES, RunStart, TraceHistory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KILLED = """
import os, signal
import penstock

def rows():
    yield {"id": 1}
    os.kill(os.getpid(), signal.SIGKILL)

penstock.pipeline("shop").extract(rows, table_name="orders")
"""


def run_killed() -> None:
    """Run a pipeline in a process that is killed while it extracts."""
    done = subprocess.run([sys.executable, "-c", KILLED], env=os.environ, check=False)
    assert done.returncode == -signal.SIGKILL


def test_a_killed_run_is_shown_and_the_last_trace_is_that_of_the_last_finished_run(
    disk: Path,
) -> None:
    extract_package()
    ended = penstock.pipeline("shop").last_trace
    run_killed()

    (info,) = json_output("shop", "info")
    (listed,) = json_output("list")
    (shown, before) = json_output("shop", "trace", "--last", "5")
    lines = invoke("shop", "info").stdout.splitlines()
    text = invoke("shop", "trace").stdout

    assert (info["last_run"]["state"], info["last_run"]["seconds"]) == ("ended", None)
    assert info["lease"]["is_expired"] is True
    assert any(line.startswith("  lease: ") and "expired, the next run takes it" in line for line in lines)
    assert listed["last_run"] == info["last_run"]
    assert (shown["finished_at"], before["finished_at"] is not None) == (None, True)
    (last,) = (line for line in lines if line.startswith("  last run:"))
    assert "did not finish: the process ended without saying why" in last
    assert "run it again: packages that are complete are loaded first" in text
    assert "did not finish" in invoke("list").stdout
    assert penstock.pipeline("shop").last_trace == ended


def test_a_run_is_shown_as_running_until_its_trace_replaces_the_record_of_its_start(disk: Path) -> None:
    seen: list[Any] = []

    def rows() -> Iterator[dict[str, int]]:
        seen.append(LocalPipeline(disk / "shop").last_run)
        yield {"id": 1}

    penstock.pipeline("shop").extract(rows, table_name="orders")

    assert isinstance(seen[0], RunStart)
    assert seen[0].state == "running"
    (last,) = LocalPipeline(disk / "shop").runs()
    assert last.transaction_id == seen[0].transaction_id
    assert not isinstance(last, RunStart)


def test_killed_runs_count_toward_the_number_of_kept_runs(disk: Path) -> None:
    extract_package()
    history, trace = TraceHistory(disk / "shop" / "traces"), penstock.pipeline("shop").last_trace
    assert trace is not None
    for number in range(MAX_TRACES + 5):
        history.add(
            RunStart(transaction_id=f"{number:03}", pipeline_name="shop", started_at=trace.started_at)
        )

    assert len(list(history.runs())) == MAX_TRACES
