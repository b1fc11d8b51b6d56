"""A merge of 1 % into a large table with a nested one, beside statements written by hand.

    uv run dev/with-jars python -m benchmarks.merge [--rows 10000000] [--turns 3] [--check] [--profile]
                                             [--folder PATH]

Both sides get the same staged files, the same bounds of the keys and a copy of the same tables; they take
turns after a round that is not counted, in which their results are compared. The budget is 1.25 times the
time by hand. The bytes read come from Spark's event log, once also for statements without bounds.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from tests.conftest import session_builder
from tests.unit.destinations.chains import nested_table, root_table, schema_of

from benchmarks.eventlog import CONF, EventLog, Stretch, stretch
from penstock.destinations.delta.addressing import PathTables
from penstock.destinations.delta.run import DeltaTables
from penstock.destinations.lake.merge_sets import ChainLocks
from penstock.destinations.lake.rows import POSITION
from penstock.destinations.lake.run import ChainLoad
from penstock.interfaces import LoadMark
from penstock.package.storage import FileStorage
from penstock.spark.session import UserSession
from penstock.spark.session_pool import SessionPool

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

BUDGET = 1.25
FILES = 40
BY_HAND, PENSTOCK, UNBOUNDED = "by hand", "penstock", "without bounds"
SCHEMA = schema_of(root_table(), nested_table("items__tags"))


@dataclass(frozen=True)
class Staging:
    """The batch, staged as a package has it."""

    folder: Path
    sequence: int
    tables: frozenset[str] = frozenset(("items", "items__tags"))
    created_at: str = datetime(2024, 1, 1, tzinfo=UTC).isoformat()

    @property
    def store(self) -> FileStorage:
        """Return a folder for the merge sets."""
        return FileStorage(str(self.folder / f"package{self.sequence}"))

    @property
    def mark(self) -> LoadMark:
        """Return a new mark each time."""
        return LoadMark(pipeline_name="bench", sequence=self.sequence, load_id="1", manifest_hash="bench")

    def frame(self, table: str, spark: SparkSession) -> DataFrame:
        """The rows of a table."""
        return spark.read.parquet(str(self.folder / "staged" / table))


def roots(rows: DataFrame, load: str) -> DataFrame:
    """Return rows of the root table, with their positions."""
    return rows.select(
        F.col("id"),
        F.expr("date_add(date'2024-01-01', CAST(id % 365 AS INT))").alias("day"),
        F.concat(F.lit(f"name {load} "), F.col("id")).alias("name"),
        F.col("id").alias("at"),
        F.lit(None).cast("boolean").alias("deleted"),
        F.lit(load).alias("_dlt_load_id"),
        F.sha1(F.concat(F.lit(load), F.col("id").cast("string"))).alias("_dlt_id"),
        F.struct(F.lit(0).alias("part"), F.lit("f").alias("file"), F.col("id").alias("row")).alias(POSITION),
    )


def tags(items: DataFrame) -> DataFrame:
    """Return two nested rows for each root row."""
    return items.select(
        F.col("_dlt_id").alias("_dlt_parent_id"),
        F.col("_dlt_id").alias("_dlt_root_id"),
        F.expr("posexplode(array('x', 'y')) AS (_dlt_list_idx, value)"),
        F.col(POSITION),
    ).withColumns(
        {
            "_dlt_list_idx": F.col("_dlt_list_idx").cast("bigint"),
            "_dlt_id": F.sha1(F.concat("_dlt_parent_id", F.col("_dlt_list_idx").cast("string"))),
        }
    )


def make(spark: SparkSession, folder: Path, rows: int) -> None:
    """Create the tables, and a batch of 1 %: the latest keys, one tenth of them new."""
    complete = roots(spark.range(0, rows, 1, FILES), "old")
    complete.drop(POSITION).write.format("delta").save(str(folder / "base" / "items"))
    tags(complete).drop(POSITION).write.format("delta").save(str(folder / "base" / "items__tags"))
    many = rows // 100
    batch = roots(spark.range(rows - many + many // 10, rows + many // 10, 1, 2), "new")
    batch.write.parquet(str(folder / "staged" / "items"))
    tags(spark.read.parquet(str(folder / "staged" / "items"))).write.parquet(
        str(folder / "staged" / "items__tags")
    )


def by_penstock(spark: SparkSession, lake: Path, staging: Staging) -> None:
    """Run the jobs of both tables as a load does."""
    for table in ("items__tags", "items"):
        chain = ChainLoad(
            root="items",
            schema=SCHEMA.tables,
            staged=cast("Any", staging),
            target=DeltaTables(addressing=PathTables(FileStorage(str(lake)))),
            chain_locks=ChainLocks(),
            spark=spark,
        )
        for step in chain.plan.steps_for(table, chain.staged.tables):
            chain.commit(step)


def by_hand(spark: SparkSession, lake: Path, staging: Staging, *, bounded: bool = True) -> None:
    """Merge as a user would by hand: bounds, ids of the old rows kept in a file, one MERGE for each table."""
    items, nested = f"delta.`{lake / 'items'}`", f"delta.`{lake / 'items__tags'}`"
    batch = staging.frame("items", spark).drop(POSITION)
    low, high = batch.agg(F.min("id"), F.max("id")).collect()[0]
    bounds = f"t.id >= {low} AND t.id <= {high}" if bounded else "true"
    batch.createOrReplaceTempView("batch")
    ids = str(staging.folder / f"ids{staging.sequence}")
    result = spark.sql(
        f"SELECT t._dlt_id FROM {items} t LEFT SEMI JOIN batch b ON t.id = b.id WHERE {bounds}"
    )
    result.write.parquet(ids)
    old = spark.read.parquet(ids).select(F.col("_dlt_id").alias("root"))
    rows = staging.frame("items__tags", spark).drop(POSITION)
    rows.unionByName(old, allowMissingColumns=True).createOrReplaceTempView("nested_rows")
    names = ("_dlt_parent_id", "_dlt_root_id", "_dlt_list_idx", "value", "_dlt_id")
    spark.sql(
        f"MERGE INTO {nested} t USING nested_rows s ON t._dlt_root_id = s.root WHEN MATCHED THEN DELETE "
        f"WHEN NOT MATCHED AND s.root IS NULL THEN INSERT ({', '.join(names)}) "
        f"VALUES ({', '.join(f's.{name}' for name in names)})"
    )
    spark.sql(
        f"MERGE INTO {items} t USING batch s ON t.id = s.id AND {bounds} "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )


def on_a_copy(folder: Path, act: Callable[[Path], None]) -> Stretch:
    """Measure a call on a fresh copy of the tables. Their files never change, so the copy has links."""
    lake = folder / "lake"
    shutil.rmtree(lake, ignore_errors=True)
    shutil.copytree(folder / "base", lake, copy_function=os.link)
    with stretch() as result:
        act(lake)
    return result


def fingerprint(spark: SparkSession, folder: Path) -> list[Any]:
    """Return a digest that copies of the tables share if they have the same rows."""
    return [
        spark.read.format("delta")
        .load(str(folder / "lake" / table))
        .selectExpr("count(*)", f"sum(hash({', '.join(names)}))")
        .collect()[0]
        for table, names in {
            "items": ("id", "day", "name", "at", "_dlt_id"),
            "items__tags": ("_dlt_root_id", "_dlt_list_idx", "value", "_dlt_id"),
        }.items()
    ]


def session(folder: Path) -> SparkSession:
    """The user's session, with an event log."""
    (folder / "log").mkdir()
    builder = session_builder("delta").master("local[2]").config("spark.eventLog.dir", f"file:{folder}/log")
    for key, value in CONF.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def measured(folder: Path, options: argparse.Namespace) -> dict[str, list[Stretch]]:
    """Run both sides in turns."""
    user = session(folder)
    pool = SessionPool(
        UserSession(spark=user, is_connect=False, master="local[2]", origin="given"), ("delta",)
    )
    result: dict[str, list[Stretch]] = {BY_HAND: [], PENSTOCK: [], UNBOUNDED: []}
    with pool.session() as spark:
        make(spark, folder, options.rows)
        staged = (Staging(folder, sequence) for sequence in count(1))
        results = {}
        for turn in range(1 + options.turns):
            ways: dict[str, Callable[[Path, Staging], None]] = {
                BY_HAND: partial(by_hand, spark),
                PENSTOCK: partial(by_penstock, spark),
            }
            if turn == options.turns:
                ways[UNBOUNDED] = partial(by_hand, spark, bounded=False)
            for name, way in ways.items():
                staging = next(staged)
                taken = on_a_copy(folder, lambda lake, way=way, staging=staging: way(lake, staging))  # type: ignore[misc]
                print(f"# {name} {taken.seconds:.1f} s{'' if turn else ', not counted'}", flush=True)
                if turn:
                    result[name].append(taken)
                else:
                    results[name] = fingerprint(spark, folder)
        if results[BY_HAND] != results[PENSTOCK]:
            raise SystemExit(f"the tables differ: {results}")
    user.stop()
    return result


def main() -> int:
    """Print medians and bytes read; with --check fail when the budget is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--folder", help="where the tables are written")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="penstock-merge-", dir=options.folder) as place:
        result = measured(Path(place), options)
        log = EventLog(Path(place) / "log")
    medians = {name: statistics.median(item.seconds for item in taken) for name, taken in result.items()}
    print(
        f"1 % into {options.rows:,} rows with {2 * options.rows:,} nested ones, medians of {options.turns}:"
    )
    for name, seconds in medians.items():
        jobs = log.jobs(result[name][-1])
        read = sum(job.bytes_read for job in jobs) / 2**20
        files = log.files_read(result[name][-1]) / 2**20
        ratio = seconds / medians[BY_HAND]
        print(f"  {name:<15} {seconds:7.1f} s {ratio:5.2f} {len(jobs):4} jobs", end="")
        print(f" {read:8,.0f} MiB read, of files of {files:8,.0f} MiB")
    ratio = medians[PENSTOCK] / medians[BY_HAND]
    print(f"{PENSTOCK} to {BY_HAND}: {ratio:.2f} (allowed {BUDGET})")
    if options.profile:
        for name in (BY_HAND, PENSTOCK):
            profile(log, name, result[name][-1])
    return int(options.check and ratio > BUDGET)


def profile(log: EventLog, name: str, during: Stretch) -> None:
    """Print the jobs of one side, in order."""
    print(f"\n{name}: begun after, took, read, what")
    for job in log.jobs(during):
        begun, took, read = job.begun - during.begun, job.ended - job.begun, job.bytes_read / 2**20
        print(f"  {begun:7.0f} ms {took:7.0f} ms {read:7.1f} MiB  {job.what[:100]}")


if __name__ == "__main__":
    sys.exit(main())
