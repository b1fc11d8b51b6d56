"""Peak memory of the driver's Python process at two sizes: it must not depend on the number of rows.

    uv run python -m benchmarks.memory --rows 300000 3000000 [--check]

Each size runs in a separate process, on a local Spark, from a Python generator of small nested rows into
Delta tables.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

import penstock
from benchmarks.isolated_process import growth, in_process, peak_mebibytes
from penstock.testing import nested_rows

ALLOWED = 1.15


def main() -> int:
    """Measure each size, print a table, and with --check fail when the largest needs more than 15 % more."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[300_000, 3_000_000])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one is not None:
        print(json.dumps(measure(options.one)))
        return 0
    measured = [in_process("benchmarks.memory", "--one", str(rows)) for rows in options.rows]
    print(f"{'rows':>12} {'peak MiB':>9} {'extract s':>10} {'rows/s':>9} {'normalize s':>12} {'load s':>7}")
    for row in measured:
        speed = row["rows"] / row["extract"]
        print(
            f"{row['rows']:>12,} {row['peak']:>9.0f} {row['extract']:>10.1f} {speed:>9,.0f}"
            f" {row['normalize']:>12.1f} {row['load']:>7.1f}"
        )
    flat = growth(measured, allowed=ALLOWED)
    return 1 if options.check and not flat else 0


def measure(rows: int) -> dict[str, float]:
    """Run once; the peak is that of this process without the JVM."""
    with tempfile.TemporaryDirectory(prefix="penstock-memory-") as folder:
        lake = penstock.destinations.delta(bucket_url=str(Path(folder) / "lake"))
        pipeline = penstock.pipeline("memory", pipelines_dir=folder, destination=lake)
        started = time.monotonic()
        info = pipeline.run(nested_rows(rows), table_name="items")
        total = time.monotonic() - started
        loaded = {table.table: table.rows for table in info.packages[0].tables}
    if loaded["items"] != rows:
        raise SystemExit(f"{rows} rows went in and {loaded} came out")
    return {"rows": rows, "peak": peak_mebibytes(), "total": total, **info.seconds}


if __name__ == "__main__":
    sys.exit(main())
