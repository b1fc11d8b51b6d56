"""Concurrent processes, each running `contention_process.py`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
ROUNDS = int(os.environ.get("PENSTOCK_TEST_ROUNDS", "10"))
PROCESSES = [2, 4] if "PENSTOCK_TEST_ROUNDS" in os.environ else [4]


def contend(kind: str, processes: int, rounds: int) -> list[dict[str, Any]]:
    command = [
        sys.executable,
        "-m",
        "tests.unit.package.contention_process",
        kind,
        str(processes),
        str(rounds),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    reports: list[dict[str, Any]] = json.loads(done.stdout)["reports"]
    return reports


def check_lease(reports: list[dict[str, Any]], rounds: int) -> None:
    epochs = [epoch for one in reports for epoch in one["epochs"]]
    assert len(epochs) == len(set(epochs)) == rounds * len(reports)
    assert sum(one["met"] for one in reports) == 0, "two processes held the lease at once"
    assert sum(one["refused"] for one in reports) > 0, "the processes never overlapped, so nothing was tested"


def check_slots(reports: list[dict[str, Any]], rounds: int) -> None:
    won = sorted(sequence for one in reports for sequence in one["won"])
    committed, aborted = ({seq for one in reports for seq in one[way]} for way in ("committed", "aborted"))
    assert won == list(range(1, rounds + 1)), "each number has one winner"
    assert committed | aborted == set(won)
    assert not committed & aborted, "a load was decided both ways"


@pytest.mark.parametrize("processes", PROCESSES)
def test_of_concurrent_processes_one_gets_the_lease_one_the_slot_and_one_the_decision(
    processes: int,
) -> None:
    reports = contend("disk", processes, ROUNDS)

    check_lease(reports, ROUNDS)
    check_slots(reports, ROUNDS)
