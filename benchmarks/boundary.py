"""Very many rows with one cursor value: two runs, the state, the driver's peak memory, and dlt beside it.

    uv run python -m benchmarks.boundary [--rows 1000000] [--page 1000] [--dlt PYTHON]

The first run extracts all rows, the second gets them again and must load none. The cursor is a date, as it is
in many tables, and there is a key. Each run is a separate process, on local disk, and no Spark is started.
The state is what a load writes to the destination: its bytes as JSON, and packed as it is stored. dlt hashes
all rows at the boundary again after each page: use large pages, or wait.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.isolated_process import peak_mebibytes

if TYPE_CHECKING:
    from collections.abc import Iterator

DAY = "2024-01-01"

DLT = """
import base64, json, os, resource, sys, time, zlib
os.environ |= {"RUNTIME__DLTHUB_TELEMETRY": "false", "RUNTIME__LOG_LEVEL": "CRITICAL"}
import dlt
from dlt.common.json import json as typed_json
folder, rows, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])

@dlt.resource(primary_key="id")
def days(day=dlt.sources.incremental("day")):
    for first in range(0, rows, size):
        numbers = range(first, min(first + size, rows))
        yield [{"id": one, "day": "2024-01-01", "text": "row"} for one in numbers]

pipeline = dlt.pipeline("boundary", pipelines_dir=folder, destination="dummy")
started = time.monotonic()
info = pipeline.extract(days())
seconds = time.monotonic() - started
made = sum(m["table_metrics"]["days"].items_count for l in info.metrics.values() for m in l
           if "days" in m["table_metrics"])
text = typed_json.typed_dumpb(pipeline.state)
print(json.dumps({"rows": made, "seconds": seconds, "state": len(text),
    "packed": len(base64.b64encode(zlib.compress(text, level=9))), "files": 0,
    "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
"""


def main() -> int:
    """Print a line for each run; fail when the second one loads anything."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--page", type=int, default=1_000, help="rows that are yielded together")
    parser.add_argument("--dlt", help="a Python that has dlt installed")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one is not None:
        print(json.dumps(measure(Path(options.one), options.rows, options.page)))
        return 0
    print(
        f"{options.rows:,} rows with one cursor value, in pages of {options.page:,}\n"
        f"{'':>12} {'new rows':>11} {'seconds':>8} {'peak MiB':>9} {'state bytes':>12} {'packed':>11}"
        f" {'file bytes':>11}"
    )
    sizes = [str(options.rows), "--page", str(options.page)]
    good = runs("penstock", [sys.executable, "-m", "benchmarks.boundary", "--rows", *sizes, "--one"], [])
    if options.dlt:
        runs("dlt", [options.dlt, "-c", DLT], [str(options.rows), str(options.page)])
    return 0 if good else 1


def runs(name: str, command: list[str], more: list[str]) -> bool:
    """Run a tool twice in one folder."""
    with tempfile.TemporaryDirectory(prefix="penstock-boundary-") as folder:
        for number in ("first", "second"):
            done = subprocess.run([*command, folder, *more], check=True, capture_output=True, text=True)
            result = json.loads(done.stdout.splitlines()[-1])
            print(
                f"{name:>8} {number[:3]} {result['rows']:>11,} "
                f"{result['seconds']:>8.1f} {result['peak']:>9.0f}"
                f" {result['state']:>12,} {result['packed']:>11,} {result['files']:>11,}",
                flush=True,
            )
    return bool(result["rows"] == 0)


def measure(folder: Path, rows: int, size: int) -> dict[str, float]:
    """Run once; state and files of the previous run are in the folder."""
    import penstock  # noqa: PLC0415 - the parent process needs none of it
    from penstock.extract.run import extract  # noqa: PLC0415
    from penstock.package import Packages, create_load_id  # noqa: PLC0415
    from penstock.package.typed_json import from_typed  # noqa: PLC0415
    from penstock.pipeline.state import encode_state  # noqa: PLC0415
    from penstock.schema import naming_convention  # noqa: PLC0415
    from penstock.schema.frozen_map import thaw  # noqa: PLC0415
    from penstock.sources import flows_of  # noqa: PLC0415

    @penstock.resource(primary_key="id")
    def days(day: Any = penstock.sources.incremental("day")) -> Iterator[Any]:
        for first in range(0, rows, size):
            yield [{"id": item, "day": DAY, "text": "row"} for item in range(first, min(first + size, rows))]

    packages, remaining = Packages.at(str(folder)), folder / "state.json"
    sources = json.loads(remaining.read_text()) if remaining.exists() else {}
    (flow,) = flows_of(days())
    started = time.monotonic()
    done = extract(
        flow,
        packages.package(create_load_id()),
        schema_name="shop",
        naming=naming_convention("snake_case", 255),
        state={"sources": from_typed(sources)},
        boundary_store=packages.store,
    )
    seconds = time.monotonic() - started
    state = {"sources": thaw(done.extracted.state)}
    remaining.write_text(json.dumps(state["sources"]))
    files = sum(entry.size for entry in packages.store.entries("cursors"))
    return {
        "rows": done.report.rows,
        "seconds": seconds,
        "state": len(json.dumps(state)),
        "packed": len(encode_state(state)),
        "files": files,
        "peak": peak_mebibytes(),
    }


if __name__ == "__main__":
    sys.exit(main())
