"""`penstock demo --kill` as a user starts it: five kills of real processes, and each row once; no Spark."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def test_killed_loads_are_resumed_exactly_once(tmp_path: Path) -> None:
    # Whatever writer of small tables other tests have chosen.
    env = {name: value for name, value in os.environ.items() if not name.startswith("NORMALIZE__")}
    command = [sys.executable, "-c", "from penstock.cli import main; main()", "demo", "--kill", "--json"]

    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={**env, "JAVA_HOME": "/nonexistent"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    (document,) = map(json.loads, done.stdout.splitlines())
    stages = Counter(kill["step"]["stage"] for kill in document["kills"])
    days = document["kills"][-1]["day"]
    assert stages.total() == 5, document["seed"]
    assert set(stages) == {"extract", "normalize", "load"}
    assert document["exactly_once"]
    assert [table["loaded"] for table in document["tables"]] == [100 * days, 200 * days]
    assert all(kill["visible_days"] in {kill["day"] - 1, kill["day"]} for kill in document["kills"])
