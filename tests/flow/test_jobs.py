"""The number of Spark jobs depends on tables, not on rows."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.conftest import AT_LENGTH, starting

if TYPE_CHECKING:
    from pathlib import Path

TWO_RUNS = """
import sys, time
import penstock

def rows(count):
    for number in range(count):
        yield {"id": number, "name": f"n{number}", "tags": [f"t{number}"]}

marks = []
for name, count in (("few", 3), ("many", int(sys.argv[1]))):
    started = time.time() * 1000
    pipeline = penstock.pipeline(name, destination=penstock.destinations.delta("lake"))
    pipeline.run(rows(count), table_name="items")
    marks.append((started, time.time() * 1000))
import json
print(json.dumps(marks))
"""

ROWS = 300_000 if AT_LENGTH else 30_000


def test_three_rows_and_very_many_need_the_same_jobs(tmp_path: Path) -> None:
    events = tmp_path / "events"
    events.mkdir()
    settings = tmp_path / ".penstock"
    settings.mkdir()
    (settings / "config.toml").write_text(
        f"""
        [spark.conf]
        "spark.eventLog.enabled" = "true"
        "spark.eventLog.dir" = "file://{events}"
        "spark.eventLog.compress" = "false"
        "spark.eventLog.rolling.enabled" = "false"
        """
    )
    command = [sys.executable, "-c", TWO_RUNS, str(ROWS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=starting(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr

    few, many = json.loads(done.stdout.splitlines()[-1])
    submitted = [job["Submission Time"] for job in jobs(events)]
    counts = [sum(start <= moment <= end for moment in submitted) for start, end in (few, many)]
    assert counts[0] == counts[1] > 0, counts
    print(f"jobs: {counts}")  # noqa: T201 - the figure, shown with -s


def jobs(events: Path) -> list[dict[str, int]]:
    """Every job in the event log but those that write Delta's checkpoints."""
    (log,) = events.iterdir()
    entries = [json.loads(line) for line in log.read_text().splitlines()]
    starts = [entry for entry in entries if entry["Event"] == "SparkListenerJobStart"]
    return [start for start in starts if "checkpoint" not in str(start.get("Properties", {})).lower()]
