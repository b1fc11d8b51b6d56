"""Sessions of users: without Delta's catalog, with another catalog, without Delta's extension."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from pyspark.sql.connect.client.reattach import ExecutePlanResponseReattachableIterator
from tests.conftest import MODE

import penstock
from penstock.testing import nested_rows

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

WITHOUT_EXTENSION = """
import os, sys
from pyspark.sql import SparkSession
import penstock

spark = (
    SparkSession.builder.master("local[1]")
    .config("spark.ui.enabled", "false")
    .config("spark.log.level", "ERROR")
    .config("spark.driver.extraClassPath", os.environ["PENSTOCK_TEST_JARS_DELTA"]).getOrCreate()
)
lake = penstock.destinations.delta(sys.argv[1])
try:
    penstock.pipeline("quick", destination=lake, spark=spark).run([1], table_name="t")
except penstock.PenstockError as error:
    print(error)

files = penstock.destinations.filesystem(sys.argv[1] + " of files")
pipeline = penstock.pipeline("plain", destination=files, dataset_name="demo", spark=spark)
pipeline.run([{"id": 1, "tags": ["a", "b"]}], table_name="items")
print("plain files:", pipeline.dataset().row_counts())
try:
    pipeline.run([{"id": 2}], table_name="merged", table_format="delta")
except penstock.PenstockError as error:
    print("then:", error)
print("and:", pipeline.dataset()["items"].fetchall()[0][0])
"""

ICEBERG = "org.apache.iceberg.spark.SparkSessionCatalog"


def run_on(session: SparkSession, location: str, tmp_path: Path) -> dict[str, int]:
    pipeline = penstock.pipeline(
        "quick",
        pipelines_dir=tmp_path / "pipelines",
        destination=penstock.destinations.delta(bucket_url=location),
        spark=session,
    )
    pipeline.run(nested_rows(4), table_name="items")
    dataset = pipeline.dataset()
    assert dataset["items"].spark().count() == 4
    return dataset.row_counts()


def test_a_session_without_deltas_catalog_works(spark: SparkSession, location: str, tmp_path: Path) -> None:
    session = spark.newSession()
    assert session.conf.get("spark.sql.catalog.spark_catalog", None) is None

    counts = run_on(session, location, tmp_path)

    assert counts == {"items": 4, "items__parts": 4, "items__tags": 8}
    assert session.conf.get("spark.sql.catalog.spark_catalog", None) is None


@pytest.mark.handful
@pytest.mark.every_mode
@pytest.mark.skipif(MODE != "connect", reason="clients of a server share a thread pool, others do not")
def test_released_sessions_close_nothing_that_others_use(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    run_on(spark, location, tmp_path)
    before = ExecutePlanResponseReattachableIterator._release_thread_pool_instance

    gc.collect()

    assert before is not None
    assert ExecutePlanResponseReattachableIterator._release_thread_pool_instance is before


@pytest.mark.at_length
def test_a_session_with_icebergs_session_catalog_works(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.catalog.spark_catalog", ICEBERG)
    session.conf.set("spark.sql.catalog.spark_catalog.type", "hadoop")
    session.conf.set("spark.sql.catalog.spark_catalog.warehouse", f"file://{tmp_path}/warehouse")
    session.sql("CREATE TABLE theirs (id BIGINT) USING iceberg")

    counts = run_on(session, location, tmp_path)

    assert counts == {"items": 4, "items__parts": 4, "items__tags": 8}
    assert (
        session.conf.get("spark.sql.catalog.spark_catalog") == "org.apache.iceberg.spark.SparkSessionCatalog"
    )
    session.sql("INSERT INTO theirs VALUES (1)")
    assert session.table("theirs").count() == 1


@pytest.mark.at_length
def test_a_session_without_delta_writes_plain_files_and_the_error_names_what_is_missing(
    tmp_path: Path,
) -> None:
    command = [sys.executable, "-c", WITHOUT_EXTENSION, str(tmp_path / "lake")]
    output = subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ))

    assert "the Spark session is not configured for delta tables" in output.stdout, output.stderr
    assert '.config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")' in output.stdout
    assert '.config("spark.jars.packages", "io.delta:delta-spark_4.1_2.13:4.4.0")' in output.stdout
    assert not (tmp_path / "lake").exists()
    assert "plain files: {'items': 1, 'items__tags': 2}" in output.stdout, output.stderr
    _, _, then = output.stdout.partition("then:")
    assert "the Spark session is not configured for delta tables" in then, output.stderr
    assert "and: 1" in then, output.stderr
