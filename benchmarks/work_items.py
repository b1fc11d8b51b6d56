"""Work items on a cluster: items a second, the cost of kills, a rate limit, a backfill.

    uv run dev/with-parts python -m benchmarks.work_items [CASE ...] [--mode connect] [--items 1000]

The cases are speed, worker-killed, run-killed, rate and backfill, which is killed three times at random.

Needs the parts of `make up`. Every run is a separate process, whose function records each call with
its time in a file, so that calls are counted through crashes. `worker-killed` ends one worker of the
cluster; `make up` starts it again.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

import penstock

ROOT = Path(__file__).parents[1]
SHARED = Path(os.environ.get("PENSTOCK_TEST_SHARED", "/nowhere"))
CASES = ("speed", "worker-killed", "run-killed", "rate", "backfill")


def things(item: Any, rows: int, calls: str, pause: float) -> Any:
    """Record the call, then return a page of rows."""
    with open(f"{calls}/{os.getpid()}.txt", "a") as notes:  # noqa: PTH123 - travels with `os` alone
        notes.write(f"{time.time():.6f} {json.dumps(item)}\n")
    time.sleep(pause)
    first = item[0] if isinstance(item, list) else item * rows
    last = item[1] if isinstance(item, list) else first + rows
    yield [
        {"id": number, "name": f"thing {number}", "tags": {"even": number % 2 == 0}}
        for number in range(first, last)
    ]


def session(mode: str) -> Any:
    """Return the session of a user of the cluster: executors have no penstock."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - only runs need it

    os.umask(0)
    if mode == "connect":
        return SparkSession.builder.remote(os.environ["PENSTOCK_TEST_CONNECT"]).getOrCreate()
    os.environ["PYSPARK_PYTHON"] = os.environ["PENSTOCK_TEST_CLUSTER_PYTHON"]
    jars = os.environ["PENSTOCK_TEST_JARS_DELTA"]
    return (
        SparkSession.builder.appName("work-items")
        .master(os.environ["PENSTOCK_TEST_SPARK_MASTER"])
        .config("spark.driver.extraClassPath", jars)
        .config("spark.executor.extraClassPath", jars)
        .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.hadoop.fs.permissions.umask-mode", "000")
        .config("spark.cores.max", "2")
        .config("spark.executor.cores", "1")
        .config("spark.executor.memory", "1g")
        .config("spark.log.level", "ERROR")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )


def run(options: argparse.Namespace) -> None:
    """Run the pipeline once; print the loaded rows as JSON."""
    spark, folder = session(options.mode), Path(options.folder)
    from pyspark.sql import functions as F  # noqa: PLC0415 - as above

    spark.range(1).collect()
    items = (
        penstock.sources.windows(0, options.items * options.rows, options.rows)
        if options.windows
        else range(options.items)
    )
    resource = penstock.resource(
        things, name="things", work_items=items, rate_limit=options.rate, primary_key="id"
    )
    lake = penstock.destinations.delta(str(folder / "lake"))
    pipeline = penstock.pipeline("bench", pipelines_dir=folder / "pipelines", destination=lake, spark=spark)
    started = time.monotonic()
    info = pipeline.run(resource(rows=options.rows, calls=str(folder / "calls"), pause=options.pause))
    took = time.monotonic() - started
    result = pipeline.dataset()["things"].spark().agg(F.count("id"), F.countDistinct("id")).collect()[0]
    output = {"rows": result[0], "ids": result[1], "seconds": took, "extract": info.seconds.get("extract")}
    print(json.dumps(output), flush=True)


class Bench:
    """Runs in a separate folder: started, watched and killed."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.folder = SHARED / f"work-items-{uuid.uuid4().hex[:8]}"
        os.umask(0)
        (self.folder / "calls").mkdir(parents=True)

    def start(self, **options: Any) -> subprocess.Popen[str]:
        """Start a run in a separate process."""
        words = [f"--{key}={value}" for key, value in options.items() if value is not None]
        program = [sys.executable, "-m", "benchmarks.work_items"]
        command = [*program, "--run", f"--mode={self.options.mode}", *words]
        environment = {**os.environ, "PENSTOCK_HOME": str(self.folder / "home"), "RUN__LEASE_ALIVE": "6"}
        with (self.folder / "errors.txt").open("a") as errors:
            return subprocess.Popen(
                [*command, f"--folder={self.folder}"],
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=environment,
                cwd=self.folder,
            )

    def finish(self, process: subprocess.Popen[str]) -> dict[str, Any]:
        """Return the output of a run."""
        out, _ = process.communicate()
        if process.returncode:
            raise SystemExit((self.folder / "errors.txt").read_text())
        output: dict[str, Any] = json.loads(out.splitlines()[-1])
        return output

    def calls(self) -> list[tuple[float, str]]:
        """Return every call so far with its time and item."""
        lines = (line for path in (self.folder / "calls").iterdir() for line in path.read_text().splitlines())
        return sorted((float(moment), item) for moment, _, item in (line.partition(" ") for line in lines))

    def wait_for(self, calls: int, process: subprocess.Popen[str]) -> None:
        """Return after this number of calls, or at the end of the run."""
        while len(self.calls()) < calls and process.poll() is None:
            time.sleep(0.02)

    def waves(self) -> list[int]:
        """Return the items of each wave in the ledger of the existing package."""
        result = sorted(self.folder.glob("lake/*/_dlt_pkg/*/packages/*/waves/*/*.json"))
        return [len(json.loads(path.read_text())["items"]) for path in result]

    def close(self) -> None:
        """Remove all its files."""
        shutil.rmtree(self.folder, ignore_errors=True)


def speed(bench: Bench, items: int) -> None:
    """Run all items without a kill."""
    output = bench.finish(bench.start(items=items, rows=100))
    calls = Counter(item for _, item in bench.calls())
    pace = items / output["extract"]
    print(f"{items:,} items of 100 rows: extract {output['extract']:.1f} s, {pace:,.0f} items/s")
    print(f"  rows {output['rows']:,}, distinct {output['ids']:,}, calls {calls.total():,}")
    print(f"  whole run {output['seconds']:.1f} s, waves {bench.waves()}")


def worker_killed(bench: Bench, items: int) -> None:
    """Kill one worker of the cluster and its executors during the run."""
    process = bench.start(items=items, rows=100)
    bench.wait_for(items // 2, process)
    lines = subprocess.run(
        [sys.executable, "-m", "dev.parts", "status"], capture_output=True, text=True, cwd=ROOT, check=False
    ).stdout.splitlines()
    worker = next(int(line.split()[2]) for line in lines if line.startswith("spark-worker-2"))
    children = subprocess.run(
        ["pgrep", "-P", str(worker)], capture_output=True, text=True, check=False
    ).stdout.split()
    at = len(bench.calls())
    for pid in (worker, *map(int, children)):
        os.kill(pid, signal.SIGKILL)
    output = bench.finish(process)
    calls = Counter(item for _, item in bench.calls())
    again = sum(1 for count in calls.values() if count > 1)
    print(f"a worker and its {len(children)} executors killed with -9 after {at:,} calls:")
    print(
        f"  rows {output['rows']:,}, distinct {output['ids']:,} of {items * 100:,}; repeated calls {again:,};"
        f" whole run {output['seconds']:.1f} s"
    )


def run_killed(bench: Bench, items: int) -> None:
    """Kill the run, and start it again."""
    process = bench.start(items=items, rows=100, seconds=4)
    bench.wait_for(items // 2, process)
    process.kill()
    process.wait()
    time.sleep(3)  # running tasks may still call
    first, waves = len(bench.calls()), bench.waves()
    output = bench.finish(bench.start(items=items, rows=100, seconds=4))
    calls = Counter(item for _, item in bench.calls())
    again = sum(1 for count in calls.values() if count > 1)
    print(f"the run killed with -9 after {first:,} calls; waves in the ledger {waves}, {sum(waves):,} items:")
    print(
        f"  rows {output['rows']:,}, distinct {output['ids']:,} of {items * 100:,}; repeated calls {again:,},"
        f" all of the wave in flight: {again == first - sum(waves)}; none over {max(calls.values())} times"
    )


def rate(bench: Bench, items: int) -> None:
    """Run with a limit of 50 calls a second over all executors."""
    output = bench.finish(bench.start(items=items, rows=1, rate="50/s"))
    moments = [moment for moment, _ in bench.calls()]
    most = max(
        sum(1 for other in moments[at : at + 200] if other < moment + 1) for at, moment in enumerate(moments)
    )
    reached = (len(moments) - 1) / (moments[-1] - moments[0])
    stretches = sorted(250 / (moments[at + 250] - moments[at]) for at in range(len(moments) - 250))
    print(f"{items:,} items at 50/s: most calls in any second {most}")
    print(
        f"  {reached:.1f}/s from first to last; of 250 in a row median {stretches[len(stretches) // 2]:.1f}/s"
    )
    print(f"  rows {output['rows']:,}, distinct {output['ids']:,}; waves {bench.waves()}")


def backfill(bench: Bench, _: int) -> None:
    """Run a backfill of twelve windows, killed three times at random."""
    options = {"items": 12, "rows": 1000, "windows": 1, "pause": 1.0, "seconds": 1}
    for _ in range(3):
        process = bench.start(**options)
        bench.wait_for(len(bench.calls()) + 1, process)
        time.sleep(random.uniform(1, 9))
        process.kill()
        process.wait()
        print(f"  killed after {len(bench.calls())} calls, {sum(bench.waves())} windows in the ledger")
    output = bench.finish(bench.start(**options))
    calls = Counter(item for _, item in bench.calls())
    print(
        f"12 windows killed three times: rows {output['rows']:,}, distinct {output['ids']:,} of 12,000;"
        f" calls {calls.total()}, windows called {len(calls)}"
    )


def main() -> int:
    """Run the cases in order."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", metavar="CASE", help=" ".join(CASES))
    parser.add_argument("--mode", choices=("standalone", "connect"), default="standalone")
    parser.add_argument("--items", type=int, help="10,000; for the rate 2,000")
    parser.add_argument("--run", action="store_true", help=argparse.SUPPRESS)
    for name, kind in (
        ("folder", str),
        ("rows", int),
        ("rate", str),
        ("windows", int),
        ("pause", float),
        ("seconds", float),
    ):
        parser.add_argument(
            f"--{name}", type=kind, default=0 if kind is not str else None, help=argparse.SUPPRESS
        )
    options = parser.parse_args()
    if options.run:
        if options.seconds:
            os.environ["EXTRACT__WAVE_SECONDS"] = str(options.seconds)
        run(options)
        return 0
    for name in options.cases or CASES:
        bench = Bench(options)
        try:
            {
                "speed": speed,
                "worker-killed": worker_killed,
                "run-killed": run_killed,
                "rate": rate,
                "backfill": backfill,
            }[name](bench, options.items or (2_000 if name == "rate" else 10_000))
        finally:
            bench.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
