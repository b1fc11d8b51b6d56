"""A small append, warm, beside the bare appends of the same tables one after another.

    uv run dev/with-jars python -m benchmarks.append [--to delta] [--rows 1000] [--turns 9] [--check]
                                                     [--profile]

`--to` is `delta`, `iceberg` or `files`, which are of Parquet.

All sides write the same four tables in one session, `local[2]`, and take turns after two rounds that are not
counted:

- `penstock`: a whole run of a pipeline whose schema is known, from Python rows; shown by step
- `by hand`: the tables out of an existing nested Parquet file, one append for each
- `by hand, numbered`: on Delta the same with a transaction id on each append, without which a load cannot
  be written once: to read the last number Delta computes the state of the table

The budget is 2 times the time by hand, for everything that comes after extract. Spark jobs are counted from
the event log, those of Delta's checkpoints left out. `--profile` lists the jobs of the last round.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
from pyspark.sql import functions as F
from tests.conftest import session_builder

import penstock
from benchmarks.eventlog import CONF, EventLog, Stretch, stretch
from benchmarks.events import events
from benchmarks.normalize import SCHEMA
from penstock.spark.session import UserSession
from penstock.spark.session_pool import SessionPool

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

BUDGET = 2.0
WARMING = 2
COLUMNS = (
    "row.id", "row.type", "row.created_at", "row.public", "row.score", "row.payload.push_id",
    "row.payload.ref", "row.repo.id AS repo_id", "row.repo.name AS repo_name", "row.actor.id AS actor_id",
    "row.actor.login", "row.actor.url", "row.actor.plan.name AS plan", "row.actor.plan.seats",
    "try_cast(row.payload.size AS BIGINT) AS size",
    "CASE WHEN try_cast(row.payload.size AS BIGINT) IS NULL THEN row.payload.size END AS size_text",
    "'1' AS load_id", "id AS row_id",
)  # fmt: skip


def main() -> int:
    """Print medians, ratios and jobs; with --check fail when the budget is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--to", choices=("delta", "iceberg", "files"), default="delta")
    parser.add_argument("--rows", type=int, default=1_000)
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="penstock-append-") as folder:
        rounds = measured(Path(folder), options)
        log = EventLog(Path(folder) / "log")
    bare = statistics.median(turn["by hand"].seconds for turn in rounds)
    print(f"{options.rows:,} nested rows, four tables, to {options.to}, medians of {options.turns}:")
    print(f"  {'by hand':<20} {bare:6.2f} s  1.00   {jobs_of(log, [turn['by hand'] for turn in rounds])}")
    if options.to == "delta":
        numbered = [turn["by hand, numbered"] for turn in rounds]
        with_ids = statistics.median(item.seconds for item in numbered)
        print(
            f"  {'by hand, numbered':<20} {with_ids:6.2f} s {with_ids / bare:5.2f}   {jobs_of(log, numbered)}"
        )
    complete = [turn["penstock"] for turn in rounds]
    steps = {
        step: statistics.median(turn[step] for turn in rounds) for step in ("extract", "normalize", "load")
    }
    total = statistics.median(item.seconds for item in complete)
    after = statistics.median(turn["penstock"].seconds - turn["extract"] for turn in rounds)
    print(f"  {'penstock, whole run':<20} {total:6.2f} s {total / bare:5.2f}   {jobs_of(log, complete)}")
    print(f"  {'  without extract':<20} {after:6.2f} s {after / bare:5.2f}   (allowed {BUDGET})")
    for step, seconds in steps.items():
        print(f"  {'  ' + step:<20} {seconds:6.2f} s {seconds / bare:5.2f}")
    if options.profile:
        profile(log, rounds[-1])
    return int(options.check and after / bare > BUDGET)


def jobs_of(log: EventLog, stretches: list[Stretch]) -> str:
    """Return the number of jobs of a turn."""
    counts = [sum(not job.is_checkpoint for job in log.jobs(stretche)) for stretche in stretches]
    return f"{min(counts)} to {max(counts)} Spark jobs" if len(set(counts)) > 1 else f"{counts[0]} Spark jobs"


def profile(log: EventLog, last: dict[str, Any]) -> None:
    """Print the jobs of both sides, in order."""
    for name in ("by hand", "penstock"):
        print(f"\n{name}: begun after, took, what")
        for job in log.jobs(last[name]):
            begun, took = job.begun - last[name].begun, job.ended - job.begun
            print(f"  {begun:6.0f} ms {took:6.0f} ms  {job.what[:110]}")


def measured(folder: Path, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Run both sides in turns; return the time spans and the steps of each round."""
    (folder / "log").mkdir()
    preset = "iceberg" if options.to == "iceberg" else "delta"
    builder = session_builder(preset).master("local[2]").config("spark.eventLog.dir", f"file:{folder}/log")
    for key, value in (CONF | catalog_at(folder / "hand")).items():
        builder = builder.config(key, value)
    user = builder.getOrCreate()
    rows = list(events(options.rows))
    pool = SessionPool(
        UserSession(spark=user, is_connect=False, master="local[2]", origin="given"), (preset,)
    )
    lake = {"files": penstock.destinations.filesystem}.get(options.to) or getattr(
        penstock.destinations, options.to
    )
    pipeline = penstock.pipeline(
        "bench",
        pipelines_dir=folder / "pipelines",
        destination=lake(bucket_url=str(folder / "lake")),
        dataset_name="d",
        spark=user,
    )
    result: list[dict[str, Any]] = []
    with pool.session() as spark:
        nested = nested_file(spark, folder, rows)
        for turn in range(WARMING + options.turns):
            with stretch() as hand:
                by_hand(nested, options.to, folder / "hand", {}, is_new=turn == 0)
            output: dict[str, Any] = {"by hand": hand}
            if options.to == "delta":
                ids = {"txnAppId": "hand", "txnVersion": str(turn)}
                with stretch() as output["by hand, numbered"]:
                    by_hand(nested, options.to, folder / "numbered", ids)
            with stretch() as actual:
                info = pipeline.run(rows, table_name="events")
            result.append({**output, "penstock": actual, **info.seconds})
            print(f"# by hand {hand.seconds:.2f} s, penstock {actual.seconds:.2f} s", flush=True)
    user.stop()
    return result[WARMING:]


def nested_file(spark: SparkSession, folder: Path, rows: list[dict[str, Any]]) -> DataFrame:
    """One nested Parquet file, with an id for each row."""
    texts = spark.createDataFrame([(orjson.dumps(row).decode(),) for row in rows], "row STRING").coalesce(1)
    parsed = texts.select(
        F.expr("substr(base64(unhex(sha2(row, 256))), 1, 14)").alias("id"),
        F.from_json("row", SCHEMA).alias("row"),
    )
    parsed.write.parquet(str(folder / "nested"))
    return spark.read.schema(parsed.schema).parquet(str(folder / "nested"))


def catalog_at(folder: Path) -> dict[str, str]:
    """Return the settings of the Iceberg catalog for the tables by hand."""
    name = "spark.sql.catalog.hand"
    return {
        name: "org.apache.iceberg.spark.SparkCatalog",
        f"{name}.type": "hadoop",
        f"{name}.warehouse": str(folder),
    }


def by_hand(
    nested: DataFrame, to: str, lake: Path, options: Mapping[str, str], *, is_new: bool = False
) -> None:
    """Write the tables as a user who knows the data would."""
    child = "substr(base64(unhex(sha2(concat(parent, '_{}_', idx), 256))), 1, 14)"
    labels = nested.selectExpr("id AS parent", "posexplode(row.labels) AS (idx, value)")
    commits = nested.selectExpr("id AS parent", "posexplode(row.payload.commits) AS (idx, c)")
    commits = commits.selectExpr("parent", "idx", f"{child.format('commits')} AS id", "c")
    files = commits.selectExpr("id AS parent", "posexplode(c.files) AS (idx, value)")
    tables = {
        "events": nested.selectExpr(*COLUMNS),
        "labels": labels.selectExpr("value", "parent", "idx", f"{child.format('labels')} AS id"),
        "commits": commits.selectExpr("c.sha", "c.message", "c.distinct", "parent", "idx", "id"),
        "files": files.selectExpr("value", "parent", "idx", f"{child.format('files')} AS id"),
    }
    for name, frame in tables.items():
        if to == "delta":
            frame.write.format("delta").mode("append").options(**options).save(str(lake / name))
        elif to == "files":
            frame.write.mode("append").parquet(str(lake / name))
        elif is_new:
            frame.writeTo(f"hand.d.{name}").using("iceberg").create()
        else:
            frame.writeTo(f"hand.d.{name}").append()


if __name__ == "__main__":
    sys.exit(main())
