"""A small append, warm: 1,000 nested rows into four existing Delta tables.

By hand these are four appends, one after another, out of a nested Parquet file that already exists.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import penstock
from benchmarks.events import events
from benchmarks.suite.by_hand import append_delta, tables_by_hand, write_nested, write_texts
from benchmarks.suite.dlt_process import DltProcess
from benchmarks.suite.measure import Rounds
from benchmarks.suite.results import BARE, DLT, PENSTOCK, CaseResult
from benchmarks.suite.spark_session import user_session

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import DataFrame

    from benchmarks.suite.plan import Plan

ROWS: Final = 1_000
WARMING: Final = 2


def run(plan: Plan) -> dict[str, CaseResult]:
    """Append to Delta."""
    with DltProcess(plan.folder / "dlt") as dlt:
        append = partial(append_delta_table, plan)
        result = run_appends(plan, "delta", append, dlt=partial(dlt.run, "append", rows=ROWS))
    return {"append": result}


def append_delta_table(plan: Plan, frame: DataFrame, name: str) -> None:
    """Append to the table of this name."""
    append_delta(frame, plan.folder / "hand" / name)


def run_appends(
    plan: Plan,
    to: str,
    append: Callable[[DataFrame, str], None],
    *,
    conf: Mapping[str, str] | None = None,
    dlt: Callable[[], dict[str, float]] | None = None,
) -> CaseResult:
    """Run the sides in turns: `append` adds the rows of a frame to a table by hand."""
    spark = user_session(to, log=plan.folder / "log", conf=conf)
    rows, texts = list(events(ROWS)), plan.folder / "texts.parquet"
    write_texts(texts, ROWS)
    frames = tables_by_hand(write_nested(spark, texts, plan.folder / "nested"))
    lake = getattr(penstock.destinations, to)(bucket_url=str(plan.folder / "lake"))
    pipeline = penstock.pipeline(
        "bench", plan.folder / "pipelines", destination=lake, dataset_name="d", spark=spark, progress="null"
    )
    rounds = Rounds()
    for _ in range(WARMING + plan.rounds):
        rounds.begin()
        with rounds.turn(BARE):
            for name, frame in frames.items():
                append(frame, name)
        with rounds.turn(PENSTOCK) as values:
            info = pipeline.run(rows, table_name="events")
        values |= {f"seconds: {step}": seconds for step, seconds in info.seconds.items()}
        if dlt is not None:
            rounds.add(DLT, dlt())
    spark.stop()
    return CaseResult(
        title=f"{ROWS:,} nested rows into four {to.capitalize()} tables, warm",
        measures=rounds.measures(warming=WARMING, log=plan.folder / "log"),
    )
