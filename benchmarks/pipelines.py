"""Many pipelines in one process, one after another on one shared session: memory, seconds and jobs.

    uv run dev/with-jars python -m benchmarks.pipelines [--to delta] [--pipelines 200] [--from 50] [--check]

Each pipeline has a separate name, working folder and dataset. It is created, run once with a few nested
rows, and closed. Memory is measured after both garbage collectors have run.
`held` of the JVM is its heap; it has caches with a limit (Spark's list of the last 1,000 jobs and statements,
Delta's of tables), which fill up first. Jobs are counted from the event log.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
from tests.conftest import session_builder

import penstock
from benchmarks.eventlog import CONF, EventLog, Stretch, stretch
from penstock.testing import nested_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MIB = 2**20
ALLOWED = 0.5
"""Growth of Python's memory in MiB that is allowed for each pipeline."""


@dataclass(frozen=True, slots=True)
class Held:
    """The memory of the two processes in MiB, and the number of Python objects."""

    python: float
    objects: int
    jvm: float

    def __str__(self) -> str:
        return f"{self.python:8.1f} {self.objects:10,} {self.jvm:8.1f}"


def main() -> int:
    """Print the memory on the way; with --check fail when Python's memory grows with each pipeline."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--to", choices=("delta", "iceberg"), default="delta")
    parser.add_argument("--pipelines", type=int, default=200)
    parser.add_argument("--rows", type=int, default=10)
    parser.add_argument("--from", type=int, default=50, dest="begin")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="penstock-pipelines-") as folder:
        held, runs = measured(Path(folder), options)
        log = EventLog(Path(folder) / "log")
    print(f"{'pipelines':>9} {'Python':>8} {'objects':>10} {'JVM':>8}   MiB held")
    for number, item in held.items():
        print(f"{number:>9} {item}")
    begin, end = held[options.begin], held[options.pipelines]
    between = options.pipelines - options.begin
    grown = (end.python - begin.python) / between
    print(
        f"from {options.begin} to {options.pipelines}: Python {end.python - begin.python:+.1f} MiB"
        f" ({grown * 1024:+.0f} KiB and {(end.objects - begin.objects) / between:+.1f} objects each),"
        f" JVM {end.jvm - begin.jvm:+.1f} MiB ({(end.jvm - begin.jvm) / between * 1024:+.0f} KiB each)"
    )
    later = runs[options.begin :]
    seconds = sorted(item.seconds for item in later)
    jobs = [sum(not job.is_checkpoint for job in log.jobs(item)) for item in later]
    print(
        f"seconds per run: median {statistics.median(seconds):.2f}, longest {seconds[-1]:.2f};"
        f" first half {statistics.median(item.seconds for item in later[: between // 2]):.2f},"
        f" second half {statistics.median(item.seconds for item in later[between // 2 :]):.2f}"
    )
    print(f"Spark jobs per run: {min(jobs)} to {max(jobs)}, median {statistics.median(jobs):.0f}")
    return int(options.check and grown > ALLOWED)


def measured(folder: Path, options: argparse.Namespace) -> tuple[dict[int, Held], list[Stretch]]:
    """Run them all."""
    (folder / "log").mkdir()
    builder = (
        session_builder(options.to).master("local[2]").config("spark.eventLog.dir", f"file:{folder}/log")
    )
    for key, value in CONF.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    held: dict[int, Held] = {}
    runs: list[Stretch] = []
    for number in range(1, options.pipelines + 1):
        with stretch() as took:
            one_pipeline(folder, spark, number, options)
        runs.append(took)
        if number % options.begin == 0 or number == options.pipelines:
            held[number] = look(spark)
    spark.stop()
    return held, runs


def one_pipeline(folder: Path, spark: SparkSession, number: int, options: argparse.Namespace) -> None:
    """Create, run, close."""
    pipeline = penstock.pipeline(
        f"number_{number}",
        pipelines_dir=folder / "pipelines",
        destination=getattr(penstock.destinations, options.to)(bucket_url=str(folder / "lake")),
        dataset_name=f"dataset_{number}",
        spark=spark,
    )
    info = pipeline.run(nested_rows(options.rows), table_name="items")
    loaded = {table.table: table.rows for table in info.packages[0].tables}
    if loaded["items"] != options.rows:
        raise SystemExit(f"{options.rows} rows went in and {loaded} came out")
    pipeline.deactivate()


def look(spark: SparkSession) -> Held:
    """Measure after both garbage collectors ran: the JVM keeps objects until Python releases them."""
    jvm: Any = spark._jvm  # noqa: SLF001 - no public name has it
    for _ in range(3):
        gc.collect()
        jvm.java.lang.System.gc()
        time.sleep(0.5)
    runtime = jvm.java.lang.Runtime.getRuntime()
    return Held(
        python=psutil.Process().memory_info().rss / _MIB,
        objects=len(gc.get_objects()),
        jvm=(runtime.totalMemory() - runtime.freeMemory()) / _MIB,
    )


if __name__ == "__main__":
    sys.exit(main())
