"""Ten million nested rows from a generator, with a Spark that has a fixed amount of memory.

    python examples/many_nested_rows.py [ROWS] [--memory 2g]

Promise: nothing holds the data in one process. All rows arrive, and the memory of Python does not grow
with them. The peaks are read from `/proc`, so they are known on Linux only.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

import penstock
from penstock.testing import nested_rows

MOST_OF_PYTHON = 1_024
"""MiB; ten million of these rows are many times that."""


def peaks() -> dict[str, int]:
    """The most memory that Python and the JVM which it has started ever had, in MiB."""
    found: dict[str, int] = {}
    for file in Path("/proc").glob("[0-9]*/status"):
        try:
            facts = dict(line.split(":", 1) for line in file.read_text(errors="replace").splitlines())
        except OSError:
            continue  # that process is over
        is_jvm = facts["PPid"].strip() == str(os.getpid()) and facts["Name"].strip() == "java"
        if is_jvm or facts["Pid"].strip() == str(os.getpid()):
            found["JVM" if is_jvm else "Python"] = int(facts["VmHWM"].split()[0]) // 1_024
    return found


def main(folder: str, rows: int, memory: str) -> str | None:
    """Load so many rows; gives what is wrong, if anything is."""
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

    counts, most = pipeline.dataset().row_counts(), peaks()
    for name, peak in most.items():
        print(f"{name} had {peak:,} MiB at most")
    if counts != {"items": rows, "items__tags": 2 * rows, "items__parts": rows}:
        return f"rows are doubled or lost: {counts}"
    return None if most.get("Python", 0) <= MOST_OF_PYTHON else "Python has held the data"


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("rows", type=int, nargs="?", default=10_000_000)
    parser.add_argument("--memory", default="2g")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        sys.exit(main(home, options.rows, options.memory))
