"""A table of Postgres to Delta: penstock beside bare Spark with bounds chosen by hand, and dlt beside both.

    uv run python -m benchmarks.sql_database URL [--rows 10000000] [--turns 3] [--dlt-python PYTHON] [--check]

All sides take turns in one session, `local[2]`, by 4 connections, after a round of a twentieth of the rows
that is not counted. "By files" is bare Spark too: it writes Parquet files, and the table from them, so that a
crash needs no second query. Another table has a skewed key: the number of rows of each of its ranges is
printed. dlt reads a tenth of the rows by its `pyarrow` and `connectorx` backends
into Delta, in a separate process; its Python needs dlt[sql_database,deltalake], psycopg[binary] and
connectorx. The jars of Delta and Postgres are those of the environment of the tests.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import psycopg
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import penstock
from penstock.sources.sql_database import sql_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

ALLOWED = 1.2
MOST_SKEW = 3
CONNECTIONS = 4
# Most rows have small keys: ranges of equal width would assign nearly half of them to one task.
SKEWED = "(power(g, 3) / 1e3)::bigint * 1000 + g % 1000"
TABLE = """
CREATE TABLE {name} AS SELECT {key} AS id, g % 1000 AS shop, (g % 97)::smallint AS kind,
  (g * 1.25)::double precision AS ratio,
  (g % 100000)::numeric(12, 2) AS price, g % 3 = 0 AS paid, 'customer ' || g % 100000 AS customer,
  md5(g::text) AS code, 'a note on the order of some length ' || g AS note,
  DATE '2020-01-01' + g % 1000 AS day,
  TIMESTAMPTZ '2020-01-01 00:00Z' + g * interval '1 second' AS at, g % 7 AS weekday
FROM generate_series(1, {rows}) g
"""
DLT = """
import sys, time
import dlt
from dlt.sources.sql_database import sql_table
url, table, backend, folder = sys.argv[1:]
lake = dlt.destinations.filesystem(folder + "/lake")
pipeline = dlt.pipeline("bench", pipelines_dir=folder, destination=lake)
started = time.monotonic()
kwargs = {"backend_kwargs": {"return_type": "arrow"}} if backend == "connectorx" else {}
rows = sql_table(url, table, schema="public", backend=backend, chunk_size=100000, **kwargs)
pipeline.run(rows, table_format="delta")
print(time.monotonic() - started)
"""


def main() -> int:
    """Print the tables; with --check fail when the ratio or the skew exceeds its budget."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--dlt-python")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    sizes = {"bench_warm": options.rows // 20, "bench_large": options.rows, "bench_small": options.rows // 10}
    try:
        for name, rows in sizes.items():
            make(options.url, name, rows)
        make(options.url, "bench_skewed", options.rows // 10, key=SKEWED)
        with tempfile.TemporaryDirectory(prefix="penstock-sql-") as folder:
            spark = session()
            ratio = beside_bare(spark, options, Path(folder))
            skew = ranges(spark, options.url)
            spark.stop()
            if options.dlt_python:
                beside_dlt(options, Path(folder))
    finally:
        for name in (*sizes, "bench_skewed"):
            tell(options.url, f"DROP TABLE IF EXISTS {name}")
    return 1 if options.check and (ratio > ALLOWED or skew > MOST_SKEW) else 0


def tell(url: str, *statements: str) -> None:
    """Run statements."""
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


def make(url: str, name: str, rows: int, *, key: str = "g::bigint") -> None:
    """Fill a table."""
    text = TABLE.format(name=name, rows=rows, key=key)
    key_text = f"ALTER TABLE {name} ADD PRIMARY KEY (id)"
    tell(url, f"DROP TABLE IF EXISTS {name}", text, key_text, f"ANALYZE {name}")


def session() -> SparkSession:
    """One session for both sides."""
    jars = ":".join(os.environ[f"PENSTOCK_TEST_JARS_{group}"] for group in ("DELTA", "POSTGRES"))
    return (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.extraClassPath", jars)
        .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
        .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.driver.memory", "3g")
        .getOrCreate()
    )


def beside_bare(spark: SparkSession, options: argparse.Namespace, folder: Path) -> float:
    """Load a table both ways; return the ratio of the medians."""
    sides: dict[str, Callable[[str, int, Path], None]] = {
        "bare Spark": lambda name, rows, to: bare(spark, options.url, name, rows, to),
        "by files": lambda name, rows, to: by_files(spark, options.url, name, rows, to),
        "penstock": lambda name, _, to: spent.append(loaded(spark, options.url, name, to)),
    }
    spent: list[str] = []
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for turn in range(options.turns + 1):
        table, rows = ("bench_large", options.rows) if turn else ("bench_warm", options.rows // 20)
        for name, load in sides.items():
            started = time.monotonic()
            load(table, rows, folder / "lake")
            if turn:
                seconds[name].append(time.monotonic() - started)
            shutil.rmtree(folder / "lake")
    print(f"Postgres to Delta, {options.rows:,} rows of 12 columns, {CONNECTIONS} connections, local[2]")
    for name, took in seconds.items():
        shown, median = ", ".join(f"{each:.1f}" for each in took), statistics.median(took)
        print(f"  {name:>10}: median {median:6.1f} s of {shown}; {options.rows / median:,.0f} rows/s")
    print(f"  penstock spent: {'; '.join(spent[1:])}")
    floor = statistics.median(seconds["penstock"]) / statistics.median(seconds["by files"])
    print(f"  ratio to files and then Delta {floor:.2f}")
    ratio = statistics.median(seconds["penstock"]) / statistics.median(seconds["bare Spark"])
    print(f"  ratio {ratio:.2f} (allowed {ALLOWED})")
    return ratio


def bare(spark: SparkSession, url: str, table: str, rows: int, to: Path) -> None:
    """Load the table as a user who knows it would."""
    by_hand(spark, url, table, rows).write.format("delta").save(f"file://{to}/table")


def by_files(spark: SparkSession, url: str, table: str, rows: int, to: Path) -> None:
    """Load the table by way of Parquet files."""
    by_hand(spark, url, table, rows).write.parquet(f"file://{to}/files")
    spark.read.parquet(f"file://{to}/files").write.format("delta").save(f"file://{to}/table")


def by_hand(spark: SparkSession, url: str, table: str, rows: int) -> DataFrame:
    """Return the table, in ranges of a key with known bounds."""
    server = urlsplit(url)
    properties = {"user": str(server.username), "password": str(server.password), "fetchsize": "10000"}
    return spark.read.jdbc(
        f"jdbc:postgresql://{server.hostname}:{server.port}{server.path}",
        table,
        column="id",
        lowerBound=1,
        upperBound=rows,
        numPartitions=CONNECTIONS,
        properties=properties,
    )


def loaded(spark: SparkSession, url: str, table: str, to: Path) -> str:
    """Load the table by a pipeline; return the seconds of its steps."""
    pipeline = penstock.pipeline(
        "bench",
        pipelines_dir=to / "pipelines",
        destination=penstock.destinations.delta(str(to)),
        dataset_name="bench",
        spark=spark,
        progress="null",
    )
    pipeline.run(sql_table(url, table, connections=CONNECTIONS))
    trace = pipeline.last_trace
    return ", ".join(f"{step.step} {step.seconds:.1f} s" for step in trace.steps) if trace else ""


def ranges(spark: SparkSession, url: str) -> float:
    """Print the ranges of a skewed key; return the largest range by the median."""
    result = [item for item in sql_table(url, "bench_skewed", partitions=16) if item is not None]
    counted = result[0].groupBy(F.spark_partition_id()).count().collect()
    counts = sorted(row["count"] for row in counted)
    skew: float = counts[-1] / statistics.median(counts)
    spark.catalog.clearCache()
    print(f"A skewed key in {len(counts)} ranges: {', '.join(map(str, counts))} rows")
    print(f"  the largest is {skew:.2f} of the median (allowed {MOST_SKEW})")
    return skew


def beside_dlt(options: argparse.Namespace, folder: Path) -> None:
    """Measure dlt with a tenth of the rows."""
    for backend in ("pyarrow", "connectorx"):
        command = [options.dlt_python, "-c", DLT, options.url, "bench_small", backend, str(folder / backend)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"  dlt, {backend}: {done.stderr.strip().splitlines()[-1]}")
            continue
        took, rows = float(done.stdout.split()[-1]), options.rows // 10
        print(f"  dlt, {backend:>10}: {took:6.1f} s for {rows:,} rows; {rows / took:,.0f} rows/s")


if __name__ == "__main__":
    sys.exit(main())
