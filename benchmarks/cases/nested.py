"""Many nested rows that are extracted already: normalized and loaded into four Delta tables.

`known` appends with the schema of an earlier load, `learning` has no schema. By hand it is one nested Parquet
dataset with the schema given, then the four tables out of it from a pool of threads.
"""

from __future__ import annotations

import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

import penstock
from benchmarks.events import events
from benchmarks.suite.by_hand import append_delta, tables_by_hand, write_nested, write_texts
from benchmarks.suite.dlt_process import DltProcess
from benchmarks.suite.measure import Rounds
from benchmarks.suite.results import BARE, DLT, PENSTOCK, SECONDS, CaseResult
from benchmarks.suite.spark_session import user_session

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from benchmarks.suite.plan import Plan

TITLES: Final = {"known": "known schema", "learning": "schema to learn"}


def run(plan: Plan) -> dict[str, CaseResult]:
    """Run all sides in turns, after a round of fewer rows."""
    rows = plan.choose(100_000, 1_000_000)
    spark = user_session("delta", log=plan.folder / "log")
    ways = {way: Rounds() for way in TITLES}
    texts = plan.folder / "texts.parquet"
    with DltProcess(plan.folder / "dlt") as dlt:
        for number in range(1 + plan.rounds):
            count = rows if number else min(rows, 20_000)
            if number in {0, 1}:
                write_texts(texts, count)
            for rounds in ways.values():
                rounds.begin()
            with ways["known"].turn(BARE):
                by_hand(spark, texts, plan.folder)
            ways["learning"].rounds[-1][BARE] = ways["known"].rounds[-1][BARE]
            by_penstock(ways["known"], spark, count, plan.folder / "known")
            by_penstock(ways["learning"], spark, count, plan.folder / f"learning_{number}")
            values = dlt.run("nested", name=f"nested_{number}", rows=count)
            for rounds in ways.values():
                rounds.add(DLT, dict(values))
            for name in ("hand", f"learning_{number}", f"dlt/nested_{number}"):
                shutil.rmtree(plan.folder / name)
    spark.stop()
    return {
        f"nested-{way}": CaseResult(
            title=f"{rows:,} nested rows to four Delta tables, {TITLES[way]}",
            measures=rounds.measures(warming=1, log=plan.folder / "log"),
        )
        for way, rounds in ways.items()
    }


def by_hand(spark: SparkSession, texts: Path, folder: Path) -> None:
    """Write the tables, all at once."""
    nested = write_nested(spark, texts, folder / "hand" / "nested")
    with ThreadPoolExecutor(4) as pool:
        list(
            pool.map(
                lambda item: append_delta(item[1], folder / "hand" / item[0]), tables_by_hand(nested).items()
            )
        )


def by_penstock(rounds: Rounds, spark: SparkSession, rows: int, folder: Path) -> None:
    """Normalize and load; the extraction before them is measured apart."""
    lake = penstock.destinations.delta(bucket_url=str(folder / "lake"))
    pipeline = penstock.pipeline(
        "bench", folder / "pipelines", destination=lake, dataset_name="d", spark=spark, progress="null"
    )
    began = time.monotonic()
    pipeline.extract(events(rows), table_name="events")
    extracted = time.monotonic() - began
    with rounds.turn(PENSTOCK) as values:
        pipeline.normalize()
        pipeline.load()
    values["seconds with extract"] = values[SECONDS] + extracted
