"""A program: normalizes one package several times on executors that are killed or paused meanwhile."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
from pyspark.sql import SparkSession

from penstock.extract.encode import encode
from penstock.extract.parts import RowPartWriter
from penstock.extract.plan import Rotation
from penstock.normalize.run import normalize
from penstock.package import Package, Packages, create_load_id
from penstock.package.extract_manifest import ExtractedTable, ExtractManifest
from penstock.schema import Schema, naming_convention
from penstock.testing import nested_rows

if TYPE_CHECKING:
    from collections.abc import Callable

FILES, ROWS_IN_FILE = 12, 2_000
HELD_UP = 6.0


def main(folder: str) -> None:
    """Print for each run a digest of all rows, their number, and the number of tasks that ran twice."""
    spark = session()
    package = filled(folder)
    for name, disturb in (("quiet", None), ("killed", kill), ("held up", hold_up)):
        sys.stdout.write(json.dumps({"run": name, **run(package, spark, disturb)}) + "\n")
    spark.stop()


def session() -> SparkSession:
    """Return a session with two executor processes and speculation: a slow task runs on both."""
    return (
        SparkSession.builder.master("local-cluster[2,1,900]")
        .config("spark.ui.enabled", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.executor.memory", "800m")
        .config("spark.sql.caseSensitive", "true")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.files.maxPartitionBytes", "200k")
        .config("spark.sql.files.openCostInBytes", "0")
        .config("spark.speculation", "true")
        .config("spark.speculation.interval", "100ms")
        .config("spark.speculation.multiplier", "1.2")
        .config("spark.speculation.quantile", "0.2")
        .getOrCreate()
    )


def filled(folder: str) -> Package:
    """Return a package of several part files."""
    package = Packages.at(folder).package(create_load_id())
    package.create()
    where = "data/extracted/orders"
    with RowPartWriter(package.store, where, Rotation()) as writer:
        for number, row in enumerate(nested_rows(FILES * ROWS_IN_FILE), 1):
            writer.write(encode(row))
            if not number % ROWS_IN_FILE:
                writer.close()
    table = ExtractedTable(
        table="orders",
        resource="orders",
        write_disposition="append",
        folder=where,
        rows=writer.rows,
        bytes=writer.bytes,
        files=writer.files,
    )
    package.mark_extracted(ExtractManifest(schema_name="shop", tables=(table,)).to_dict())
    return package


def run(package: Package, spark: SparkSession, disturb: Callable[[], None] | None) -> dict[str, object]:
    """Normalize the package once more, disturbed as soon as a first task has written."""
    before = set(normalized_folders(package))
    is_over, was = threading.Event(), threading.Event()

    def watch() -> None:
        while not is_over.wait(0.02):
            fresh = set(normalized_folders(package)) - before
            if disturb and any(list(item.glob("*/_temporary/0/task_*")) for item in fresh):
                was.set()
                disturb()
                return

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    normalized = normalize(package, Schema("shop"), spark=spark, naming=naming_convention(), table_extras={})
    is_over.set()
    watcher.join()
    rows = [
        f"{entry.table} {row.asDict(recursive=True)!r}"
        for entry in normalized.tables
        for row in package.job(entry.job).frame(spark).collect()
    ]
    digest = hashlib.sha256("\n".join(sorted(rows)).encode()).hexdigest()
    return {"digest": digest, "rows": len(rows), "disturbed": was.is_set()}


def normalized_folders(package: Package) -> list[Path]:
    """Return the folders that attempts write to."""
    return list(Path(package.path, "data/normalized").glob("*"))


def executors() -> list[psutil.Process]:
    """Return the executor processes, the oldest first."""
    result = [
        child
        for child in psutil.Process().children(recursive=True)
        if "CoarseGrainedExecutorBackend" in " ".join(child.cmdline())
    ]
    return sorted(result, key=psutil.Process.create_time)


def kill() -> None:
    """Kill an executor during its task."""
    executors()[0].kill()


def hold_up() -> None:
    """Pause an executor until another one has started its task, then resume it."""
    held = executors()[-1]
    os.kill(held.pid, signal.SIGSTOP)
    time.sleep(HELD_UP)
    os.kill(held.pid, signal.SIGCONT)


if __name__ == "__main__":
    main(sys.argv[1])
