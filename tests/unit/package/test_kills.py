"""Real processes that are killed, by `kill_process.py`, since a test process must not fork."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.unit.package.transitions import TRANSITIONS

if TYPE_CHECKING:
    import pytest

ROOT = Path(__file__).parents[3]
ALL = os.environ.get("PENSTOCK_TEST_KILLS") == "all"
MOVES = (
    "create_package",
    "import_job",
    "complete_job",
    "retry_job",
    "remove_completed_jobs",
    "seal",
    "abort",
    "drop, not sealed",
    "lease, from the dead",
)
"""Those in which most can go wrong; `make packages` tries all."""


def run_kills(*arguments: str) -> str:
    command = [sys.executable, "-m", "tests.unit.package.kill_process", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()[-1]


def test_a_process_killed_at_any_operation_can_be_continued_by_the_next(
    capsys: pytest.CaptureFixture[str],
) -> None:
    names = tuple(TRANSITIONS) if ALL else MOVES

    reports = run_kills("disk", *names)

    assert reports.startswith(f"{len(names)} transitions, ")
    with capsys.disabled():
        print(f"\non a disk: {reports}")  # noqa: T201
