"""Many tables of ten rows, each with columns of its own: the first run, which creates them, and a second one.

Each side and round has a new process, whose session has written one table before. By hand each table is one
append of a DataFrame with a given schema; the case with most tables leaves that out.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import penstock
from benchmarks.eventlog import EventLog
from benchmarks.events import small_table
from benchmarks.isolated_process import in_process
from benchmarks.suite.by_hand import append_delta
from benchmarks.suite.dlt_process import DltProcess
from benchmarks.suite.measure import Rounds
from benchmarks.suite.results import BARE, DLT, JOBS, PENSTOCK, CaseResult, collect
from benchmarks.suite.spark_session import user_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from benchmarks.suite.plan import Plan

MOST_BY_HAND: Final = 150


def run(plan: Plan) -> dict[str, CaseResult]:
    """Run all sides for each number of tables."""
    counts = (20,) if plan.size == "small" else (150, 500)
    return {f"tables-{count}": run_tables(plan, count) for count in counts}


def run_tables(plan: Plan, count: int) -> CaseResult:
    """Run all sides in turns."""
    rounds = []
    for number in range(plan.rounds):
        sides = {}
        for side in (BARE, PENSTOCK) if count <= MOST_BY_HAND else (PENSTOCK,):
            folder = str(plan.folder / f"{count}-{number}-{side}".replace(" ", "-"))
            sides[side] = in_process(__name__, side, str(count), folder)
            print(f"# {side}: {sides[side]}", flush=True)
        with DltProcess(plan.folder / "dlt") as dlt:
            dlt.run("tables", name="warm", count=1)
            runs = [dlt.run("tables", name=f"tables_{count}_{number}", count=count) for _ in range(2)]
        sides[DLT] = by_run(runs)
        print(f"# {DLT}: {sides[DLT]}", flush=True)
        rounds.append(sides)
    return CaseResult(title=f"{count} tables of 10 rows to Delta", measures=collect(rounds))


def by_run(runs: list[dict[str, float]]) -> dict[str, float]:
    """Return the values of both runs under different names."""
    return {
        f"{measure}, {run} run": value
        for run, values in zip(("first", "second"), runs, strict=True)
        for measure, value in values.items()
    }


def measure(side: str, count: int, folder: Path) -> dict[str, float]:
    """Run one side twice in this process."""
    spark = user_session("delta", log=folder / "log")
    append_delta(spark.createDataFrame(small_table(0)), folder / "warm")
    write = partial(by_hand if side == BARE else by_penstock, spark, count, folder)
    rounds = Rounds()
    for _ in range(2):
        rounds.begin()
        with rounds.turn(side):
            write()
    spark.stop()
    log = EventLog(folder / "log")
    return by_run(
        [{**turn.values, JOBS: log.count(turn.span)} for turns in rounds.rounds for turn in turns.values()]
    )


def by_hand(spark: SparkSession, count: int, folder: Path) -> None:
    """Append to each table."""
    for number in range(count):
        schema = f"id BIGINT, name_{number} STRING, amount_{number} DOUBLE, is_new BOOLEAN"
        frame = spark.createDataFrame(small_table(number), schema)
        append_delta(frame.coalesce(1), folder / "hand" / f"table_{number}")


def by_penstock(spark: SparkSession, count: int, folder: Path) -> None:
    """Run a pipeline with a resource for each table."""
    lake = penstock.destinations.delta(bucket_url=str(folder / "lake"))
    pipeline = penstock.pipeline(
        "bench", folder / "pipelines", destination=lake, dataset_name="d", spark=spark, progress="null"
    )
    data: list[Any] = [
        penstock.resource(small_table(number), name=f"table_{number}") for number in range(count)
    ]
    pipeline.run(data)


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))))
