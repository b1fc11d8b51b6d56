"""Ten million nested rows from a generator, with a Spark that has a fixed amount of memory.

    python examples/many_nested_rows.py [ROWS] [--memory 2g]

Promise: no process holds all data. All rows are loaded, and the memory of Python does not grow with them.
The peaks are read from `/proc`, so they are only known on Linux.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

import penstock
from penstock.testing import nested_rows

MAX_PYTHON_MEMORY = 1_024
"""MiB; ten million of these rows are many times larger."""


def memory_peaks() -> dict[str, int]:
    """Return the peak memory of Python and of the JVM that it has started, in MiB."""
    peaks: dict[str, int] = {}
    for file in Path("/proc").glob("[0-9]*/status"):
        try:
            status = dict(line.split(":", 1) for line in file.read_text(errors="replace").splitlines())
        except OSError:
            continue  # that process has ended
        is_jvm = status["PPid"].strip() == str(os.getpid()) and status["Name"].strip() == "java"
        if is_jvm or status["Pid"].strip() == str(os.getpid()):
            peaks["JVM" if is_jvm else "Python"] = int(status["VmHWM"].split()[0]) // 1_024
    return peaks


def main(folder: str, rows: int, memory: str) -> str | None:
    """Load the rows; return the broken promise, if any."""
    penstock.config["spark.conf"] = {"spark.driver.memory": memory}
    lake = penstock.destinations.delta(bucket_url=f"{folder}/lake")
    pipeline = penstock.pipeline(
        "many",
        f"{folder}/pipelines",
        destination=lake,
        dataset_name="demo",
        progress=penstock.progress.log(30),
    )
    print(f"{rows:,} rows, and a heap of {memory} for Spark")

    print(pipeline.run(nested_rows(rows), table_name="items"))

    counts, peaks = pipeline.dataset().row_counts(), memory_peaks()
    for name, peak in peaks.items():
        print(f"{name} used at most {peak:,} MiB")
    if counts != {"items": rows, "items__tags": 2 * rows, "items__parts": rows}:
        return f"rows are duplicated or lost: {counts}"
    return None if peaks.get("Python", 0) <= MAX_PYTHON_MEMORY else "Python has held the data in memory"


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("rows", type=int, nargs="?", default=10_000_000)
    parser.add_argument("--memory", default="2g")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        sys.exit(main(home, options.rows, options.memory))
