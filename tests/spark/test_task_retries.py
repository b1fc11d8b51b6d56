"""Killed and paused executors change nothing in the result of normalize."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("task_retry_program.py")


@pytest.mark.at_length
def test_retried_tasks_change_neither_rows_nor_ids(tmp_path: Path) -> None:
    command = [sys.executable, str(PROGRAM), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=400)

    assert done.returncode == 0, done.stderr[-2000:]
    quiet, *others = (json.loads(line) for line in done.stdout.splitlines() if line.startswith("{"))
    assert quiet["rows"] > 24_000
    assert [other["run"] for other in others] == ["killed", "held up"]
    for other in others:
        assert other["disturbed"]
        assert (other["digest"], other["rows"]) == (quiet["digest"], quiet["rows"])
