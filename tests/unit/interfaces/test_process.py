"""Whether a process still runs is decided by its machine, its boot, its number and when it began."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from penstock.interfaces.process import ProcessId, has_ended, machine_id

HERE = ProcessId()
BOOT, _, TABLE = (HERE.machine or "").partition("/")

pytestmark = pytest.mark.skipif(machine_id() is None, reason="the system does not report its boot")


@pytest.mark.timeout(60)
def test_a_process_that_was_killed_has_ended_whether_or_not_its_parent_has_waited() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    process = replace(HERE, process=child.pid, started=None)
    assert process.state() == "running"

    child.kill()
    assert child.stdin is not None
    child.stdin.close()
    while not has_ended(child.pid):
        pass  # the kernel ends it, or the time limit of the test does
    assert process.state() == "ended"
    child.wait()
    assert process.state() == "ended"


@pytest.mark.parametrize(
    ("other", "state"),
    [
        (HERE, "running"),
        (replace(HERE, started="1"), "ended"),
        (replace(HERE, machine=f"another-boot/{TABLE}"), "ended"),
        (replace(HERE, machine=f"{BOOT}/another-table"), "unknown"),
        (replace(HERE, machine=f"another-boot/{TABLE}", host="elsewhere"), "unknown"),
        (replace(HERE, machine=None), "unknown"),
        (replace(HERE, process=0), "unknown"),
    ],
)
def test_a_process_is_judged_by_its_machine_and_its_start(other: ProcessId, state: str) -> None:
    assert other.state() == state
