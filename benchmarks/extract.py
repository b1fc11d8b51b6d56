"""Extraction alone: rows a second, the driver's peak memory at two sizes, and dlt beside it.

    uv run python -m benchmarks.extract --rows 2000000 20000000 [--check] [--dlt PYTHON --dlt-rows 500000]

Each measurement runs in a separate process, from one Python generator of small nested rows into part files
on local disk. No Spark is started. `--dlt` names a Python that has dlt; both then extract `--dlt-rows` rows
in turns, three times each.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.isolated_process import growth, in_process, peak_mebibytes

ALLOWED = 1.10
ROWS = Path(__file__).parents[1] / "src" / "penstock" / "testing" / "rows.py"
TURNS = 3

DLT = """
import json, runpy, sys, tempfile, time
import dlt
rows = runpy.run_path(sys.argv[1])["nested_rows"]
with tempfile.TemporaryDirectory() as folder:
    pipeline = dlt.pipeline("extraction", pipelines_dir=folder, destination="dummy")
    started = time.monotonic()
    pipeline.extract(rows(int(sys.argv[2])), table_name="items")
    print(json.dumps({"seconds": time.monotonic() - started}))
"""


def main() -> int:
    """Print the tables; with --check fail when memory grows by more than a tenth."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[2_000_000, 20_000_000])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--dlt", help="a Python that has dlt installed")
    parser.add_argument("--dlt-rows", type=int, default=500_000)
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one is not None:
        print(json.dumps(measure(options.one)))
        return 0
    measured = [in_process("benchmarks.extract", "--one", str(rows)) for rows in options.rows]
    print(f"{'rows':>12} {'peak MiB':>9} {'seconds':>8} {'rows/s':>9} {'files':>6}")
    for row in measured:
        speed = row["rows"] / row["seconds"]
        print(
            f"{row['rows']:>12,.0f} {row['peak']:>9.0f} {row['seconds']:>8.1f} {speed:>9,.0f}"
            f" {row['files']:>6.0f}"
        )
    flat = growth(measured, allowed=ALLOWED)
    if options.dlt:
        beside_dlt(options.dlt, options.dlt_rows)
    return 1 if options.check and not flat else 0


def beside_dlt(python: str, rows: int) -> None:
    """Run both tools in turns; print medians and their ratio."""
    actual, expected = [], []
    for _ in range(TURNS):
        actual.append(in_process("benchmarks.extract", "--one", str(rows))["seconds"])
        command = [python, "-c", DLT, str(ROWS), str(rows)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        expected.append(json.loads(done.stdout.splitlines()[-1])["seconds"])
    for name, seconds in (("penstock", actual), ("dlt", expected)):
        median = statistics.median(seconds)
        shown = ", ".join(f"{each:.1f}" for each in seconds)
        print(f"{name:>9}: {rows / median:>9,.0f} rows/s, median of {shown} s for {rows:,} rows")
    print(f"    ratio: {statistics.median(expected) / statistics.median(actual):.1f}")


def measure(rows: int) -> dict[str, float]:
    """Extract this number of rows; the peak is that of this process."""
    from penstock.extract.run import extract  # noqa: PLC0415 - the parent process needs none of it
    from penstock.package import Packages  # noqa: PLC0415
    from penstock.schema import naming_convention  # noqa: PLC0415
    from penstock.sources import flows_of  # noqa: PLC0415
    from penstock.testing import nested_rows  # noqa: PLC0415

    with tempfile.TemporaryDirectory(prefix="penstock-extract-") as folder:
        package = Packages.at(folder).package("1.0")
        (flow,) = flows_of(nested_rows(rows), table_name="items")
        started = time.monotonic()
        done = extract(
            flow, package, schema_name="shop", naming=naming_convention("snake_case", 255), state={}
        )
        seconds = time.monotonic() - started
    if done.report.rows != rows:
        raise SystemExit(f"{rows} rows went in and {done.report.rows} came out")
    return {"rows": rows, "peak": peak_mebibytes(), "seconds": seconds, "files": done.report.tables[0].files}


if __name__ == "__main__":
    sys.exit(main())
