r"""Rows into Postgres: `psql \copy` of a CSV file, which is the limit, penstock from Parquet files, and dlt.

    uv run python -m benchmarks.postgres URL [--rows 5000000] [--turns 3] [--dlt-python PYTHON]

All sides load the same rows of ten columns into a new table in turns, after a round of a twentieth of the
rows that is not counted. penstock gets a frame of Spark over the files, `local[2]`. dlt gets them as Arrow
tables: by its default, and by `loader_file_format="csv"`, for which it uses COPY; its Python needs
dlt[postgres] and pyarrow. Rows per second and the ratio to `\copy` are printed.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import subprocess
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

import psycopg
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import penstock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SCHEMA_NAME: Final = "penstock_bench"
ROWS_OF_A_FILE: Final = 250_000
COLUMNS: Final = """id bigint, shop bigint, quantity bigint, ratio double precision, paid boolean,
  customer varchar, note varchar, day date, at timestamp with time zone, price numeric(38,9)"""
START: Final = datetime(2020, 1, 1, tzinfo=UTC)
DLT: Final = """
import sys, time
import dlt
import pyarrow.parquet as pq
from pathlib import Path
url, folder, files, file_format = sys.argv[1:]

@dlt.resource(name="rows")
def rows():
    for file in sorted(Path(files).glob("*.parquet")):
        yield pq.read_table(file)

pipeline = dlt.pipeline("bench", pipelines_dir=folder, destination=dlt.destinations.postgres(url),
                        dataset_name="penstock_bench_dlt", dev_mode=False)
started = time.monotonic()
pipeline.run(rows, loader_file_format=file_format or None, write_disposition="replace")
print(time.monotonic() - started)
"""


def main() -> None:
    """Run all sides in turns, and print their medians."""
    about = str(__doc__).splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.postgres", description=about)
    parser.add_argument("url")
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--dlt-python", help="a Python that has dlt[postgres] and pyarrow")
    options = parser.parse_args()
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    folder = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
    seconds: dict[str, list[float]] = {}
    try:
        for turn in range(options.turns + 1):
            rows = options.rows if turn else max(1, options.rows // 20)
            if turn < 2:  # noqa: PLR2004 - the round that is not counted, and the first one
                write_files(folder, rows)
            for name, side in sides(options.url, folder, spark, options.dlt_python).items():
                took = side()
                print(f"{name}: {rows / took:,.0f} rows/s", flush=True)
                if turn:
                    seconds.setdefault(name, []).append(took)
    finally:
        shutil.rmtree(folder)
        for name in (SCHEMA_NAME, f"{SCHEMA_NAME}_dlt", f"{SCHEMA_NAME}_dlt_staging", f"{SCHEMA_NAME}_copy"):
            execute(options.url, f"DROP SCHEMA IF EXISTS {name} CASCADE")
        spark.stop()
    limit = statistics.median(seconds["copy"])
    for name, values in seconds.items():
        median = statistics.median(values)
        print(f"{name:8} {options.rows / median:12,.0f} rows/s  {limit / median:5.2f} of \\copy")


def sides(
    url: str, folder: Path, spark: SparkSession, dlt_python: str | None
) -> dict[str, Callable[[], float]]:
    """Return what is measured, by name; each returns its seconds."""
    result: dict[str, Callable[[], float]] = {
        "copy": lambda: by_psql(url, folder),
        "penstock": lambda: by_penstock(url, folder, spark),
    }
    if dlt_python:
        result["dlt"] = lambda: by_dlt(dlt_python, url, folder, "")
        result["dlt csv"] = lambda: by_dlt(dlt_python, url, folder, "csv")
    return result


def batches(rows: int) -> Iterator[pa.Table]:
    """Yield tables with the rows, the same in each run."""
    for start in range(0, rows, ROWS_OF_A_FILE):
        ids = range(start, min(start + ROWS_OF_A_FILE, rows))
        chance = random.Random(start)
        yield pa.table(
            {
                "id": list(ids),
                "shop": [number % 1000 for number in ids],
                "quantity": [chance.randrange(100) for _ in ids],
                "ratio": [chance.random() for _ in ids],
                "paid": [number % 3 == 0 for number in ids],
                "customer": [f"customer {number % 100_000}" for number in ids],
                "note": [f'a "note" on the order of some length, {number}' for number in ids],
                "day": [(START + timedelta(days=number % 1000)).date() for number in ids],
                "at": pa.array(
                    [START + timedelta(seconds=number) for number in ids], pa.timestamp("us", "UTC")
                ),
                "price": pa.array([chance.randrange(10**9) for _ in ids]).cast(pa.decimal128(29, 9)),
            }
        )


def write_files(folder: Path, rows: int) -> None:
    """Write the rows as Parquet files, and as one CSV file."""
    shutil.rmtree(folder / "parquet", ignore_errors=True)
    (folder / "parquet").mkdir(parents=True)
    with (folder / "rows.csv").open("wb") as stream:
        for number, table in enumerate(batches(rows)):
            pq.write_table(table, folder / "parquet" / f"part-{number:05d}.parquet")
            texts = table.set_column(9, "price", table.column("price").cast(pa.string()))
            pc.write_csv(texts, stream, pc.WriteOptions(include_header=False))


def by_psql(url: str, folder: Path) -> float:
    """Copy the CSV file into a new table, by psql."""
    name = f"{SCHEMA_NAME}_copy"
    execute(url, f"DROP SCHEMA IF EXISTS {name} CASCADE", f"CREATE SCHEMA {name}")
    execute(url, f"CREATE TABLE {name}.rows ({COLUMNS})")
    started = time.monotonic()
    command = f"\\copy {name}.rows FROM '{folder / 'rows.csv'}' (FORMAT csv)"
    subprocess.run(["psql", url, "-q", "-c", command], check=True)
    return time.monotonic() - started


def by_penstock(url: str, folder: Path, spark: SparkSession) -> float:
    """Load a frame over the Parquet files by a new pipeline."""
    execute(url, f"DROP SCHEMA IF EXISTS {SCHEMA_NAME} CASCADE")
    shutil.rmtree(folder / "pipelines", ignore_errors=True)
    pipeline = penstock.pipeline(
        "bench",
        folder / "pipelines",
        destination=penstock.destinations.postgres(url),
        dataset_name=SCHEMA_NAME,
        spark=spark,
        progress="null",
    )
    started = time.monotonic()
    pipeline.run(spark.read.parquet(str(folder / "parquet")), table_name="rows")
    return time.monotonic() - started


def by_dlt(python: str, url: str, folder: Path, file_format: str) -> float:
    """Load the Parquet files by dlt in a separate process, which replaces its table."""
    work = folder / "dlt"
    shutil.rmtree(work, ignore_errors=True)
    command = [python, "-c", DLT, url, str(work), str(folder / "parquet"), file_format]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout.splitlines()[-1])


def execute(url: str, *statements: str) -> None:
    """Run statements."""
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


if __name__ == "__main__":
    main()
