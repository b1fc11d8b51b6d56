"""`penstock demo --kill` as a user starts it: five kills of real processes, and each row once; no Spark."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING

from tests.command_documents import read_documents

if TYPE_CHECKING:
    from pathlib import Path


def test_killed_loads_are_resumed_exactly_once(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "from penstock.cli import main; main()", "demo", "--kill", "--json"]

    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, "JAVA_HOME": "/nonexistent"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    (document,) = read_documents("demo", done.stdout)
    stages = Counter(kill["step"]["stage"] for kill in document["kills"])
    days = document["kills"][-1]["day"]
    assert stages.total() == 5, document["seed"]
    assert set(stages) == {"extract", "normalize", "load"}
    assert document["exactly_once"]
    assert [table["loaded"] for table in document["tables"]] == [100 * days, 200 * days]
    assert all(kill["visible_days"] in {kill["day"] - 1, kill["day"]} for kill in document["kills"])
