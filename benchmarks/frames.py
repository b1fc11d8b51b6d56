"""Frames as data: a DataFrame written into a package beside the bare write, and Arrow typed beside rows.

    uv run python -m benchmarks.frames [--rows 5000000] [--arrow-rows 1000000] [--turns 3] [--check]

Both sides take turns in one session, `local[2]`, after a round that is not counted. The DataFrame is nested:
two structs, a list of structs, a list of texts. Spark jobs are counted by job group; processor
seconds are shown too, for they do not depend on other users of the machine. The Arrow table has the same
shape; it is extracted as it is, and as the rows that it holds.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import SparkSession

from benchmarks.suite.measure import processor_seconds
from penstock.extract.run import extract
from penstock.package import Packages, create_load_id
from penstock.pipeline.frame_engine import SparkFrameEngine
from penstock.schema import naming_convention
from penstock.sources import flows_of
from penstock.testing import nested_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame

ALLOWED = 1.2
_PAGE = 10_000


def main() -> int:
    """Print the tables; with --check fail when extraction takes a fifth longer than the write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--arrow-rows", type=int, default=1_000_000)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="penstock-frames-") as folder:
        ratio = spark_side(Path(folder), options.rows, options.turns)
        arrow_side(Path(folder), options.arrow_rows, options.turns)
    return 1 if options.check and ratio > ALLOWED else 0


def spark_side(folder: Path, rows: int, turns: int) -> float:
    """Extract a DataFrame and write it bare; return the ratio of the medians."""
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.driver.memory", "2g")
        .getOrCreate()
    )
    seconds: dict[str, list[float]] = {"bare write": [], "landed": []}
    worked: dict[str, list[float]] = {name: [] for name in seconds}
    jobs: dict[str, set[int]] = {name: set() for name in seconds}
    for turn in range(turns + 1):
        # The first round, of a twentieth of the rows, only warms up.
        frame = nested_frame(spark, rows if turn else rows // 20)
        for name, measured in seconds.items():
            spark.sparkContext.setJobGroup(f"{name} {turn}", name)
            started, before = time.monotonic(), processor_seconds()
            if name == "landed":
                landed(frame, folder / name, rows if turn else rows // 20)
            else:
                frame.write.parquet(f"file://{folder}/{name}")
            took = time.monotonic() - started
            shutil.rmtree(folder / name)
            if turn:
                measured.append(took)
                worked[name].append(processor_seconds() - before)
                result = spark.sparkContext.statusTracker().getJobIdsForGroup(f"{name} {turn}")
                jobs[name].add(len(result))
    spark.stop()
    print(f"DataFrame of {rows:,} nested rows, {turns} turns")
    for name, turns_of_name in seconds.items():
        shown = ", ".join(f"{each:.1f}" for each in turns_of_name)
        median = statistics.median(turns_of_name)
        print(
            f"  {name:>10}: median {median:6.1f} s of {shown}; Spark jobs {sorted(jobs[name])};"
            f" processors {statistics.median(worked[name]):.1f} s"
        )
    ratio, effort = (
        statistics.median(each["landed"]) / statistics.median(each["bare write"])
        for each in (seconds, worked)
    )
    print(f"  ratio {ratio:.2f} (allowed {ALLOWED}); of processors {effort:.2f}")
    return ratio


def arrow_side(folder: Path, rows: int, turns: int) -> None:
    """Extract an Arrow table as it is, and as rows of Python."""
    table = pa.Table.from_pylist(list(nested_rows(rows)))
    sides: dict[str, Callable[[], Any]] = {"typed": lambda: table, "rows": lambda: pages(table)}
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(turns):
        for name, data in sides.items():
            started = time.monotonic()
            landed(data(), folder / name, rows)
            seconds[name].append(time.monotonic() - started)
            shutil.rmtree(folder / name)
    print(
        f"Arrow table of {rows:,} nested rows, {table.nbytes / 2**20:,.0f} MiB, extract alone, {turns} turns"
    )
    for name, took in seconds.items():
        shown = ", ".join(f"{each:.2f}" for each in took)
        median = statistics.median(took)
        print(f"  {name:>10}: median {median:6.2f} s of {shown}; {rows / median:,.0f} rows/s")


def pages(table: pa.Table) -> Iterator[list[Any]]:
    """Yield the rows of the table as pages of dicts."""
    for batch in table.to_batches(max_chunksize=_PAGE):
        yield batch.to_pylist()


def nested_frame(spark: SparkSession, rows: int) -> DataFrame:
    """Rows that are computed as they are written."""
    return spark.range(rows, numPartitions=4).selectExpr(
        "id",
        "concat('item ', id) AS name",
        "CAST(id % 1000 AS DOUBLE) / 7 AS price",
        "timestamp_seconds(1700000000 + id) AS at",
        "named_struct('city', concat('city ', id % 97), 'rating', id % 5,"
        " 'owner', named_struct('name', concat('owner ', id % 1000), 'since', date_add(DATE'2020-01-01',"
        " CAST(id % 1000 AS INT)))) AS seller",
        "array(concat('tag ', id % 13), concat('tag ', id % 31)) AS tags",
        "transform(sequence(0, id % 3),"
        " x -> named_struct('sku', concat('sku ', id, '-', x), 'count', x)) AS parts",
    )


def landed(data: Any, folder: Path, rows: int) -> None:
    """Extract into a new package; check the number of rows."""
    package = Packages.at(str(folder)).package(create_load_id())
    (flow,) = flows_of(data, table_name="items")
    done = extract(
        flow,
        package,
        schema_name="shop",
        naming=naming_convention("snake_case", 255),
        state={},
        frame_engine=SparkFrameEngine(),
    )
    if done.report.rows != rows:
        raise SystemExit(f"{rows} rows went in and {done.report.rows} came out")


if __name__ == "__main__":
    sys.exit(main())
