"""The session of a user, in which both penstock and the statements written by hand run."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from pyspark.sql import SparkSession

from benchmarks.eventlog import CONF

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

EXTENSIONS: Final = {
    "delta": "io.delta.sql.DeltaSparkSessionExtension",
    "iceberg": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
}
_DELTA: Final = {"spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog"}
_CONF: Final = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "3g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.caseSensitive": "true",
    "spark.sql.session.timeZone": "UTC",
    # What a user sets who knows that two cores have nothing to gain from 200 and 50 partitions.
    "spark.sql.shuffle.partitions": "2",
    "spark.databricks.delta.snapshotPartitions": "2",
}


def user_session(*groups: str, log: Path, conf: Mapping[str, str] | None = None) -> SparkSession:
    """Return a session, `local[2]`, with the jars of these groups, and an event log in a new folder."""
    log.mkdir(parents=True)
    jars = ":".join(os.environ[f"PENSTOCK_TEST_JARS_{group.upper()}"] for group in groups)
    settings = {
        **_CONF,
        **CONF,
        "spark.eventLog.dir": f"file:{log}",
        "spark.driver.extraClassPath": jars,
        "spark.sql.extensions": ",".join(EXTENSIONS[group] for group in groups if group in EXTENSIONS),
        **(_DELTA if "delta" in groups else {}),
        **(conf or {}),
    }
    builder = SparkSession.builder.appName("penstock-benchmarks").master("local[2]")
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()
