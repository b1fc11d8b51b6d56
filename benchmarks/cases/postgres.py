"""A table of Postgres, 12 columns, into a new Delta table.

By hand it is `spark.read.jdbc` with four connections in ranges of known bounds; dlt reads by connectorx.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import psycopg

import penstock
from benchmarks.suite.dlt_process import DltProcess
from benchmarks.suite.measure import Rounds
from benchmarks.suite.results import BARE, DLT, PENSTOCK, CaseResult
from benchmarks.suite.spark_session import user_session
from penstock.sources.sql_database import sql_table

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from benchmarks.suite.plan import Plan

CONNECTIONS: Final = 4
TABLE: Final = "penstock_bench"
_CREATE: Final = """
CREATE TABLE {name} AS SELECT g::bigint AS id, g % 1000 AS shop, (g % 97)::smallint AS kind,
  (g * 1.25)::double precision AS ratio,
  (g % 100000)::numeric(12, 2) AS price, g % 3 = 0 AS paid, 'customer ' || g % 100000 AS customer,
  md5(g::text) AS code, 'a note on the order of some length ' || g AS note,
  DATE '2020-01-01' + g % 1000 AS day,
  TIMESTAMPTZ '2020-01-01 00:00Z' + g * interval '1 second' AS at, g % 7 AS weekday
FROM generate_series(1, {rows}) g
"""


def run(plan: Plan) -> dict[str, CaseResult]:
    """Load the table by all sides in turns, after a round of fewer rows."""
    url, rows = os.environ["PENSTOCK_TEST_POSTGRES"], plan.choose(200_000, 5_000_000)
    spark = user_session("delta", "postgres", log=plan.folder / "log")
    rounds = Rounds()
    try:
        with DltProcess(plan.folder / "dlt") as dlt:
            for number in range(1 + plan.rounds):
                count = rows if number else rows // 20
                if number in {0, 1}:
                    create(url, count)
                rounds.begin()
                with rounds.turn(BARE):
                    by_hand(spark, url, count, plan.folder / "hand")
                with rounds.turn(PENSTOCK):
                    by_penstock(spark, url, plan.folder / "out")
                rounds.add(DLT, dlt.run("sql", name=f"sql_{number}", url=url, table=TABLE))
                for name in ("hand", "out", f"dlt/sql_{number}"):
                    shutil.rmtree(plan.folder / name)
    finally:
        execute(url, f"DROP TABLE IF EXISTS {TABLE}")
    spark.stop()
    return {
        "postgres": CaseResult(
            title=f"{rows:,} rows of 12 columns from Postgres to Delta",
            measures=rounds.measures(warming=1, log=plan.folder / "log"),
        )
    }


def execute(url: str, *statements: str) -> None:
    """Run statements."""
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def create(url: str, rows: int) -> None:
    """Create the table with this number of rows."""
    key = f"ALTER TABLE {TABLE} ADD PRIMARY KEY (id)"
    text = _CREATE.format(name=TABLE, rows=rows)
    execute(url, f"DROP TABLE IF EXISTS {TABLE}", text, key, f"ANALYZE {TABLE}")


def by_hand(spark: SparkSession, url: str, rows: int, to: Path) -> None:
    """Load the table as a user who knows it would."""
    server = urlsplit(url)
    frame = spark.read.jdbc(
        f"jdbc:postgresql://{server.hostname}:{server.port}{server.path}",
        TABLE,
        column="id",
        lowerBound=1,
        upperBound=rows,
        numPartitions=CONNECTIONS,
        properties={"user": str(server.username), "password": str(server.password), "fetchsize": "10000"},
    )
    frame.write.format("delta").save(str(to))


def by_penstock(spark: SparkSession, url: str, to: Path) -> None:
    """Load the table by a new pipeline."""
    lake = penstock.destinations.delta(bucket_url=str(to))
    pipeline = penstock.pipeline(
        "bench", to / "pipelines", destination=lake, dataset_name="d", spark=spark, progress="null"
    )
    pipeline.run(sql_table(url, TABLE, connections=CONNECTIONS))
