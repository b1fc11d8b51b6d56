"""The requests to S3 of a load of six small tables: the first one, and a second one.

A proxy before the gateway counts them; all sides use the same proxy and a new folder of the same bucket.
"""

from __future__ import annotations

import os
import uuid
from typing import TYPE_CHECKING, Any, Final

from tests.service.bucket import keys
from tests.service.fault_proxy import Proxy, faulty

import penstock
from benchmarks.events import small_table
from benchmarks.suite.dlt_process import DltProcess
from benchmarks.suite.measure import Rounds
from benchmarks.suite.results import BARE, DLT, PENSTOCK, CaseResult, collect
from benchmarks.suite.spark_session import user_session
from penstock.package.storage import FileStorage

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from benchmarks.suite.plan import Plan

TABLES: Final = 6


def run(plan: Plan) -> dict[str, CaseResult]:
    """Load by all sides in turns, after a round that is not counted."""
    endpoint, bucket = os.environ["PENSTOCK_TEST_S3_ENDPOINT"], os.environ["PENSTOCK_TEST_S3_BUCKET"]
    place = f"s3://{bucket}/benchmarks-{uuid.uuid4().hex[:8]}"
    rounds = []
    with faulty(endpoint) as proxy, DltProcess(plan.folder / "dlt") as dlt:
        spark = user_session("delta", "s3", log=plan.folder / "log", conf=s3a(proxy))
        try:
            for number in range(1 + plan.rounds):
                folder = f"{place}/{number}"
                loads: dict[str, Callable[[], object]] = {
                    BARE: lambda folder=folder: by_hand(spark, f"{folder}/hand"),  # type: ignore[misc]
                    PENSTOCK: lambda folder=folder, number=number: by_penstock(  # type: ignore[misc]
                        spark, f"{folder}/lake", plan, number, proxy
                    ),
                    DLT: lambda folder=folder, number=number: dlt.run(  # type: ignore[misc]
                        "tables",
                        name=f"s3_{number}",
                        count=TABLES,
                        bucket_url=f"{folder}/dlt",
                        credentials=dlt_keys(proxy),
                    ),
                }
                rounds.append({side: two_loads(side, act, proxy) for side, act in loads.items()})
        finally:
            FileStorage(place, credentials=keys()).delete("")
            spark.stop()
    title = f"{TABLES} tables of 10 rows to Delta on S3"
    return {"s3": CaseResult(title=title, measures=collect(rounds[1:]))}


def two_loads(side: str, act: Callable[[], object], proxy: Proxy) -> dict[str, float]:
    """Load twice; return requests and seconds of both."""
    values: dict[str, float] = {}
    rounds = Rounds()
    for load in ("first", "second"):
        proxy.done.clear()
        rounds.begin()
        with rounds.turn(side) as measured:
            act()
        values[f"requests, {load} load"] = proxy.done.total()
        values[f"seconds, {load} load"] = measured["seconds"]
        print(f"#   {proxy.report()}", flush=True)
    return values


def s3a(proxy: Proxy) -> dict[str, str]:
    """Return the settings of a session for statements by hand."""
    return {
        "spark.hadoop.fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
        "spark.hadoop.fs.s3a.endpoint": proxy.url,
        "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
        "spark.hadoop.fs.s3a.access.key": os.environ["PENSTOCK_TEST_S3_KEY"],
        "spark.hadoop.fs.s3a.secret.key": os.environ["PENSTOCK_TEST_S3_SECRET"],
    }


def dlt_keys(proxy: Proxy) -> dict[str, Any]:
    """Return the credentials as dlt takes them."""
    return {
        "aws_access_key_id": os.environ["PENSTOCK_TEST_S3_KEY"],
        "aws_secret_access_key": os.environ["PENSTOCK_TEST_S3_SECRET"],
        "endpoint_url": proxy.url,
        "region_name": "us-east-1",
        "s3_url_style": "path",
    }


def by_hand(spark: SparkSession, place: str) -> None:
    """Append to each table."""
    for number in range(TABLES):
        frame = spark.createDataFrame(small_table(number)).coalesce(1)
        address = f"{place}/table_{number}".replace("s3://", "s3a://")
        frame.write.format("delta").mode("append").save(address)


def by_penstock(spark: SparkSession, place: str, plan: Plan, number: int, proxy: Proxy) -> None:
    """Run a pipeline with a resource for each table."""
    lake = penstock.destinations.delta(bucket_url=place, credentials=keys(endpoint_url=proxy.url))
    pipeline = penstock.pipeline(
        "bench",
        plan.folder / f"s3_{number}",
        destination=lake,
        dataset_name="d",
        spark=spark,
        progress="null",
    )
    pipeline.run([penstock.resource(small_table(table), name=f"table_{table}") for table in range(TABLES)])
