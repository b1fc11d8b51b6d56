"""Ten times as many rows: seconds for a million of them, and the peak memory of the driver's Python.

Both sizes run in new processes, from a Python generator of small nested rows into Delta tables.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import penstock
from benchmarks.isolated_process import in_process, peak_mebibytes
from benchmarks.suite.results import PENSTOCK, CaseResult, collect
from benchmarks.suite.spark_session import user_session
from penstock.testing import nested_rows

if TYPE_CHECKING:
    from benchmarks.suite.plan import Plan


def run(plan: Plan) -> dict[str, CaseResult]:
    """Run both sizes in turns; the smaller one is the side that the larger one is compared with."""
    fewer = plan.choose(30_000, 1_000_000)
    sides = {"a tenth of the rows": fewer, PENSTOCK: 10 * fewer}
    rounds = []
    for _ in range(plan.rounds):
        rounds.append({side: in_process(__name__, str(rows)) for side, rows in sides.items()})
        print(f"# {rounds[-1]}", flush=True)
    title = f"{10 * fewer:,} nested rows beside {fewer:,}, from a generator to Delta"
    return {"scaling": CaseResult(title=title, measures=collect(rounds))}


def measure(rows: int) -> dict[str, float]:
    """Run once, after a small run that warms up; the peak is that of this process without the JVM."""
    with tempfile.TemporaryDirectory(prefix="penstock-scaling-") as folder:
        spark = user_session("delta", log=Path(folder) / "log")
        lake = penstock.destinations.delta(bucket_url=str(Path(folder) / "lake"))
        pipeline = penstock.pipeline(
            "bench", folder, destination=lake, dataset_name="d", spark=spark, progress="null"
        )
        pipeline.run(nested_rows(1_000), table_name="items")
        began = time.monotonic()
        info = pipeline.run(nested_rows(rows), table_name="items")
        seconds = time.monotonic() - began
        loaded = {table.table: table.rows for table in info.packages[0].tables}
        spark.stop()
    if loaded["items"] != rows:
        raise SystemExit(f"{rows} rows went in and {loaded} came out")
    return {"seconds for a million rows": seconds / rows * 1_000_000, "peak MiB of Python": peak_mebibytes()}


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]))))
