"""Real processes, really killed. `kills.py` does the work: it forks, which a process of tests must not."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

ROOT = Path(__file__).parents[3]


def run_kills(*arguments: str) -> str:
    command = [sys.executable, "-m", "tests.unit.package.kills", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()[-1]


def test_a_process_that_is_killed_at_any_operation_on_a_disk_leaves_what_the_next_one_can_go_on_with(
    capsys: pytest.CaptureFixture[str],
) -> None:
    told = run_kills("disk")

    found = re.match(r"(\d+) transitions, (\d+) kills", told)
    assert found
    assert (int(found[1]), int(found[2])) >= (37, 250)
    with capsys.disabled():
        print(f"\non a disk: {told}")  # noqa: T201
