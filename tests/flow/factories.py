"""Pipelines, sessions and processes for tests of whole runs."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Final

from tests.conftest import MODE

import penstock
from penstock.package import Packages

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from pyspark.sql import SparkSession

    from penstock.interfaces import Destination

# With few rows and many statements, compiling and statistics take longer than the work.
QUICK_CONF: Final = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.databricks.delta.stats.collect": "false",
    "spark.databricks.delta.snapshotPartitions": "1",
}
CATALOG_CONF: Final = {"spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog"}


def new_session(spark: SparkSession, conf: Mapping[str, str]) -> SparkSession:
    """Return a new session beside this one, with these settings."""
    session = spark.newSession()
    for key, value in conf.items():
        session.conf.set(key, value)
    return session


def quick_session(spark: SparkSession) -> SparkSession:
    """Return a session that compiles nothing, or over Connect the given one.

    Spark cannot list tables in it, nor read values of type VARIANT: such tests use `compiled`.
    """
    return new_session(spark, QUICK_CONF) if MODE != "connect" else spark


def make_pipeline(
    location: str,
    tmp_path: Path,
    spark: SparkSession | None,
    name: str = "quick",
    destination: Callable[..., Destination] = penstock.destinations.delta,
) -> penstock.Pipeline:
    return penstock.pipeline(
        name,
        pipelines_dir=tmp_path / "pipelines",
        destination=destination(bucket_url=location),
        dataset_name="demo",
        spark=spark,
    )


def run_example(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a program of a page in a folder, with the jars of the tests and nothing else of this machine."""
    return subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={
            **os.environ,
            "SPARK__JARS": os.environ["PENSTOCK_TEST_JARS_DELTA"],
            "PENSTOCK_HOME": str(folder / "home"),
        },
    )


def packages_of(location: str) -> Packages:
    return Packages.at(f"{location}/demo/_dlt_pkg/quick")
