"""Parquet files of ten columns into a new table of DuckDB.

By hand it is `CREATE TABLE … AS FROM read_parquet`, which is the limit, and without Spark. penstock gets a
frame of Spark over the files, dlt gets them as Arrow tables, which it loads as Parquet.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import duckdb
import pyarrow.parquet as pq

import penstock
from benchmarks.postgres import batches
from benchmarks.suite.dlt_process import DltProcess
from benchmarks.suite.measure import Rounds
from benchmarks.suite.results import BARE, DLT, PENSTOCK, CaseResult
from benchmarks.suite.spark_session import user_session

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from benchmarks.suite.plan import Plan


def run(plan: Plan) -> dict[str, CaseResult]:
    """Load the files by all sides in turns, after a round of fewer rows."""
    rows = plan.choose(200_000, 5_000_000)
    spark = user_session("delta", log=plan.folder / "log")
    rounds, files = Rounds(), plan.folder / "files"
    with DltProcess(plan.folder / "dlt") as dlt:
        for number in range(1 + plan.rounds):
            if number in {0, 1}:
                write_files(files, rows if number else rows // 20)
            rounds.begin()
            with rounds.turn(BARE):
                by_hand(files, plan.folder / "hand")
            with rounds.turn(PENSTOCK):
                by_penstock(spark, files, plan.folder / "out")
            rounds.add(DLT, dlt.run("duckdb", name=f"duckdb_{number}", files=str(files)))
            for name in ("hand", "out", f"dlt/duckdb_{number}"):
                shutil.rmtree(plan.folder / name)
    spark.stop()
    return {
        "duckdb": CaseResult(
            title=f"{rows:,} rows of 10 columns from Parquet files to DuckDB",
            measures=rounds.measures(warming=1, log=plan.folder / "log"),
        )
    }


def write_files(folder: Path, rows: int) -> None:
    """Write the rows as Parquet files."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for number, table in enumerate(batches(rows)):
        pq.write_table(table, folder / f"part-{number:05d}.parquet")


def by_hand(files: Path, to: Path) -> None:
    """Load the files by one statement."""
    to.mkdir()
    with duckdb.connect(str(to / "bench.duckdb")) as connection:
        connection.execute("CREATE TABLE rows AS FROM read_parquet(?)", [f"{files}/*.parquet"])


def by_penstock(spark: SparkSession, files: Path, to: Path) -> None:
    """Load a frame over the files by a new pipeline."""
    to.mkdir()
    pipeline = penstock.pipeline(
        "bench",
        to / "pipelines",
        destination=penstock.destinations.duckdb(str(to / "bench.duckdb")),
        dataset_name="d",
        spark=spark,
        progress="null",
    )
    pipeline.run(spark.read.parquet(str(files)), table_name="rows")
