"""Normalize and the writing of its tables, beside a job written by hand that is given its schema.

    uv run python -m benchmarks.normalize [--rows 1000000] [--turns 3] [--check]
                                          [--dlt PYTHON --dlt-rows 100000]
                                          [--only SIDE] [--master URL --folder PATH --workers N]

All sides read the same extracted part files of events in one session, `local[2]`, and write the same four
tables as Parquet from a pool of threads; they take turns after a round that is not counted:

- `by hand`: one nested dataset with the schema given, then the four tables out of it
- `known`: penstock with the schema of an earlier load
- `learning`: penstock with no schema at all

Beyond a million rows Spark generates the input from a million events with other ids. `--master` runs it on
a cluster, with `--workers` executors of one core each, which must see `--folder`. `--dlt` names a Python that
has dlt; it normalizes and loads `--dlt-rows` rows to Parquet, shown per row.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from benchmarks.events import events
from benchmarks.memory_watch import measured
from benchmarks.suite.by_hand import SCHEMA, tables_by_hand
from penstock.extract.encode import encode
from penstock.extract.parts import RowPartWriter
from penstock.extract.plan import Rotation
from penstock.normalize.run import normalize
from penstock.package import Package, Packages, create_load_id
from penstock.package.extract_manifest import ExtractedTable, ExtractManifest
from penstock.schema import Schema, naming_convention

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pyspark.sql import DataFrame

    from penstock.normalize.normalized import NormalizedPackage

KNOWN_SCHEMA, NEW_SCHEMA, FASTER = 1.3, 1.6, 5
MOST_BY_PYTHON = 1_000_000
DLT = """
import json, runpy, sys, tempfile, time
import dlt
events = runpy.run_path(sys.argv[1])["events"]
with tempfile.TemporaryDirectory() as folder:
    pipeline = dlt.pipeline("bench", pipelines_dir=folder, dataset_name="d",
        destination=dlt.destinations.filesystem(f"file://{folder}/lake"))
    pipeline.extract(events(int(sys.argv[2])), table_name="events", loader_file_format="parquet")
    started = time.monotonic()
    pipeline.normalize()
    pipeline.load()
    print(json.dumps({"seconds": time.monotonic() - started}))
"""


def main() -> int:
    """Print the table; with --check fail when a budget is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--only", choices=["by hand", "known", "learning"])
    parser.add_argument("--dlt", help="a Python that has dlt installed")
    parser.add_argument("--dlt-rows", type=int, default=100_000)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--folder", help="where part files and tables are written")
    options = parser.parse_args()
    os.umask(0)
    with tempfile.TemporaryDirectory(prefix="penstock-normalize-", dir=options.folder) as folder:
        Path(folder).chmod(0o777)
        medians = measure(Path(folder), options)
    return report(medians, options)


def report(medians: dict[str, float], options: argparse.Namespace) -> int:
    """Print medians and ratios; return the number of missed budgets if they are checked."""
    missed = 0
    for name, seconds in medians.items():
        ratio = seconds / medians.get("by hand", seconds)
        allowed = {"known": KNOWN_SCHEMA, "learning": NEW_SCHEMA}.get(name)
        print(f"{name:10} {seconds:7.1f} s {options.rows / seconds:9,.0f} rows/s {ratio:5.2f}", end="")
        print(f" (allowed {allowed})" if allowed else "")
        missed += bool(allowed and ratio > allowed)
    if options.dlt:
        script = str(Path(__file__).with_name("events.py"))
        command = [options.dlt, "-c", DLT, script, str(options.dlt_rows)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        speed = options.dlt_rows / json.loads(done.stdout.splitlines()[-1])["seconds"]
        faster = options.rows / medians["learning"] / speed
        print(f"dlt {speed:24,.0f} rows/s; learning is {faster:.1f} times as fast (wanted {FASTER})")
        missed += faster < FASTER
    return missed if options.check else 0


def measure(folder: Path, options: argparse.Namespace) -> dict[str, float]:
    """Run all sides in turns; return the medians."""
    events_of = folder / "event log"
    events_of.mkdir()
    spark = session(options.master, events_of, workers=options.workers)
    package = extracted(folder, min(options.rows, MOST_BY_PYTHON))
    if options.rows > MOST_BY_PYTHON:
        package = multiplied(folder, package, options.rows, spark)
    warm = extracted(folder, min(options.rows, 20_000))
    existing = tables_of(warm, Schema("bench"), spark, folder / "known")[0].schema
    sides: dict[str, Callable[[Package], str]] = {
        "by hand": lambda given: by_hand(given, spark, folder / "hand"),
        "known": lambda given: steps_of(tables_of(given, existing, spark, folder / "out")[0]),
        "learning": lambda given: steps_of(tables_of(given, Schema("bench"), spark, folder / "out")[0]),
    }
    chosen = {name: side for name, side in sides.items() if options.only in (None, name)}
    seconds: dict[str, list[float]] = {name: [] for name in chosen}
    for side in chosen.values():
        side(warm)
    for _ in range(options.turns):
        for name, side in chosen.items():
            started = time.monotonic()
            with measured() as result:
                steps = side(package)
            took = time.monotonic() - started
            seconds[name].append(took)
            print(
                f"# {name} {took:.1f} s ({steps}), {took / options.rows * 1e6:.1f} s for a million;"
                f" driver: {result.python:.0f} MiB of Python, {result.jvm:.0f} MiB of JVM",
                flush=True,
            )
    spark.stop()
    print(f"# spilled to disk by all tasks: {spilled(events_of) / 2**20:.0f} MiB")
    return {name: statistics.median(result) for name, result in seconds.items()}


def spilled(events_of: Path) -> int:
    """Return the bytes that tasks spilled to disk."""
    lines = (line for log in events_of.rglob("*") if log.is_file() for line in log.open())
    ends = (json.loads(line) for line in lines if '"SparkListenerTaskEnd"' in line)
    return sum(end.get("Task Metrics", {}).get("Disk Bytes Spilled", 0) for end in ends)


def session(master: str = "local[2]", events_of: Path | None = None, *, workers: int = 2) -> SparkSession:
    """Return a session with the settings of penstock's sessions, and an event log."""
    return (
        SparkSession.builder.master(master)
        .config("spark.executor.cores", "1")
        .config("spark.cores.max", str(workers))
        # Executors may run as another user, who writes next to the driver.
        .config("spark.hadoop.fs.permissions.umask-mode", "000")
        .config("spark.eventLog.enabled", str(events_of is not None).lower())
        .config("spark.eventLog.dir", str(events_of))
        .config("spark.eventLog.compress", "false")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.driver.memory", "3g")
        .config("spark.sql.caseSensitive", "true")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )


def extracted(folder: Path, rows: int) -> Package:
    """Return a package with this number of events."""
    return filled(folder, events(rows))


def filled(
    folder: Path, rows: Iterable[dict[str, Any] | bytes], *, rows_in_file: int | None = None
) -> Package:
    """A package with rows in part files, as extraction leaves it; a row may be JSON already."""
    packages = Packages.at(str(folder / "packages"))
    package = packages.package(create_load_id())
    package.create()
    where = "data/extracted/events"
    with RowPartWriter(package.store, where, Rotation()) as writer:
        for number, row in enumerate(rows, 1):
            writer.write(row if isinstance(row, bytes) else encode(row))
            if rows_in_file and not number % rows_in_file:
                writer.close()
    table = ExtractedTable(
        table="events",
        resource="events",
        write_disposition="append",
        folder=where,
        rows=writer.rows,
        bytes=writer.bytes,
        files=writer.files,
    )
    package.mark_extracted(ExtractManifest(schema_name="bench", tables=(table,)).to_dict())
    return package


def multiplied(folder: Path, package: Package, rows: int, spark: SparkSession) -> Package:
    """Return a package that repeats the events of another one, each with a unique id."""
    created = Packages.at(str(folder / "packages")).package(create_load_id())
    created.create()
    (table,) = ExtractManifest.from_dict(package.read_extracted()).tables
    texts = spark.read.schema("row STRING").parquet(f"{package.path}/{table.folder}")
    often = texts.selectExpr("row", f"explode(sequence(0, {rows // table.rows - 1})) AS k")
    number = f"CAST(regexp_extract(row, '^.\"id\":([0-9]+)', 1) AS BIGINT) + k * {table.rows}"
    rest = "regexp_replace(row, '^.\"id\":[0-9]+', '')"
    existing = f"{created.path}/{table.folder}"
    often.selectExpr(f"concat('{{\"id\":', {number}, {rest}) AS row").write.option(
        "maxRecordsPerFile", 400_000
    ).option("compression", "zstd").parquet(existing)
    for entry in Path(existing).iterdir():
        if not entry.name.endswith(".parquet"):
            entry.unlink()
    parts = [entry.stat().st_size for entry in Path(existing).iterdir()]
    grown = replace(table, rows=table.rows * (rows // table.rows), bytes=sum(parts), files=len(parts))
    created.mark_extracted(ExtractManifest(schema_name="bench", tables=(grown,)).to_dict())
    return created


def by_hand(package: Package, spark: SparkSession, out: Path) -> str:
    """Normalize as a user who knows the data and Spark would; return the seconds before the tables."""
    started = time.monotonic()
    raw = spark.read.schema("row STRING").parquet(f"{package.path}/data/extracted/events")
    parsed = raw.select(
        F.expr(
            "substr(base64(unhex(sha2(concat(_metadata.file_path, _metadata.row_index), 256))), 1, 14)"
        ).alias("id"),
        F.from_json("row", SCHEMA).alias("row"),
    )
    parsed.write.mode("overwrite").parquet(f"{out}/nested")
    shaped = time.monotonic() - started
    nested = spark.read.schema(parsed.schema).parquet(f"{out}/nested")
    write_all(tables_by_hand(nested), out)
    return f"shape {shaped:.1f} s"


def steps_of(normalized: NormalizedPackage) -> str:
    """Measure the seconds before the tables are written."""
    assert normalized.report is not None
    return ", ".join(f"{step.name} {step.seconds:.1f} s" for step in normalized.report.steps)


def tables_of(
    package: Package, schema: Schema, spark: SparkSession, out: Path
) -> tuple[NormalizedPackage, list[str]]:
    """Normalize a package and write its tables; return the result and the written tables."""
    normalized = normalize(package, schema, spark=spark, naming=naming_convention(), table_extras={})
    jobs = {entry.table: package.job(entry.job).frame(spark) for entry in normalized.tables}
    write_all(jobs, out)
    for number in package.store.names("data/normalized"):
        package.store.delete(f"data/normalized/{number}")
    return normalized, list(jobs)


def write_all(tables: dict[str, DataFrame], out: Path) -> None:
    """Write all tables at once, as a load does."""
    with ThreadPoolExecutor(4) as pool:
        for done in [
            pool.submit(frame.write.mode("overwrite").parquet, f"{out}/{name}")
            for name, frame in tables.items()
        ]:
            done.result()
    shutil.rmtree(out / "nested", ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
