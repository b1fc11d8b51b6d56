"""Probes of a cluster's features, for `penstock doctor` and for work on executors."""

from __future__ import annotations

import platform
import sys
from typing import TYPE_CHECKING, Final

import fsspec
import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from penstock.errors import StorageNotShared
from penstock.spark.paths import spark_path
from penstock.spark.s3 import s3fs_options

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import SparkSession

    from penstock.config import AwsCredentials
    from penstock.spark.session import UserSession
    from penstock.spark.session_pool import SessionPool

_FROM_DRIVER, _FROM_EXECUTORS = "from_driver", "from_executors"
_SLOT_PROBE_ROWS: Final = 4096


def probe_sessions(user: UserSession, pool: SessionPool) -> Iterator[tuple[str, str]]:
    """Probe how penstock's settings are isolated from the user's; a fact that starts with `!` is a limit."""
    way = "a clone on the server" if user.is_connect else "a new session beside yours"
    yield "Isolation", f"penstock works in {way}"
    for note in pool.notes:
        yield "Isolation", f"!{note}"


def count_task_slots(spark: SparkSession) -> int:
    """Return the number of concurrent tasks: Spark divides a range into as many partitions."""
    partitions = spark.range(_SLOT_PROBE_ROWS).select(F.spark_partition_id().alias("partition"))
    return int(partitions.agg(F.max("partition")).collect()[0][0]) + 1


def probe_executors(spark: SparkSession) -> str:
    """Probe the executors' Python with a function sent by value; `!` and a reason if it fails."""

    # Sent by value: it must not refer to penstock, which executors may not have.
    def tell(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            versions = [f"Python {platform.python_version()}, pyarrow {pa.__version__}"] * batch.num_rows
            yield pa.RecordBatch.from_arrays([pa.array(versions)], names=["version"])

    frame = spark.range(4, numPartitions=2).mapInArrow(tell, "version string").distinct()
    try:
        versions = sorted(row["version"] for row in frame.collect())
    except PySparkException as error:
        error_lines = [line.strip() for line in str(error).splitlines() if "Error" in line]
        reason = error_lines[-1] if error_lines else type(error).__name__
        return f"!a Python function does not run there: {reason}"
    driver_version = ".".join(map(str, sys.version_info[:2]))
    different = [text for text in versions if not text.startswith(f"Python {driver_version}.")]
    return (
        f"!{different[0]}, but the driver has Python {driver_version}"
        if different
        else " and ".join(versions)
    )


def probe_storage(root: str, spark: SparkSession, *, credentials: AwsCredentials | None = None) -> str:
    """Write from driver and executors, and read from the other side."""
    files, base = fsspec.core.url_to_fs(root, **s3fs_options(root, credentials))
    try:
        files.makedirs(base, exist_ok=True)
        files.pipe_file(f"{base}/{_FROM_DRIVER}.txt", b"seen")
        _check_executors_read(root, spark)
        spark.range(8, numPartitions=2).write.mode("overwrite").parquet(
            spark_path(f"{root}/{_FROM_EXECUTORS}")
        )
        written_files = files.glob(f"{base}/{_FROM_EXECUTORS}/*.parquet")
        if not written_files:
            raise StorageNotShared(path=root, seen_by="executors", missing_for="the driver")
    finally:
        if files.exists(base):
            files.rm(base, recursive=True)
    return f"driver and executors both read and write {root.rsplit('/', 1)[0]}"


def _check_executors_read(root: str, spark: SparkSession) -> None:
    try:
        lines = spark.read.text(spark_path(f"{root}/{_FROM_DRIVER}.txt")).select(F.col("value")).collect()
    except PySparkException as error:
        raise StorageNotShared(path=root, seen_by="the driver", missing_for="Spark") from error
    if [line["value"] for line in lines] != ["seen"]:
        raise StorageNotShared(path=root, seen_by="the driver", missing_for="the executors")
