"""The rows of a job: copied by the driver or by executors, and read by Spark."""

from __future__ import annotations

import json
from collections import Counter
from functools import reduce
from typing import TYPE_CHECKING, Final

from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from penstock.config import redact
from penstock.destinations.postgres import binary_copy, copy_task, executor_task, sqlstates, text_rows
from penstock.destinations.postgres.copy_task import TRANSIENT_MARK
from penstock.destinations.postgres.errors import ROWS_HINT, RUN_AGAIN_HINT
from penstock.destinations.postgres.executor_task import (
    OUTPUT_SCHEMA,
    PROBE_SCHEMA,
    PartitionCopier,
    PsycopgProbe,
)
from penstock.destinations.postgres.jdbc import as_jdbc_error, assert_options_are_masked
from penstock.destinations.postgres.text_rows import TextRows, text_schema
from penstock.destinations.sql.staged_frame import staged_frame
from penstock.destinations.sql.staging import POSITION
from penstock.errors import DestinationTerminalException, DestinationTransientException
from penstock.schema import spark_type
from penstock.schema.spark_sql import quote_name
from penstock.spark.serialization import loads, serialize_by_value, serialized_mapper

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from penstock.destinations.postgres.copy_task import ExecutorCopy, StagingCopy
    from penstock.package import JobFile
    from penstock.schema import Table

MAX_DRIVER_BYTES: Final = 64 * 1024 * 1024
"""The size of flat files up to which the driver copies them itself."""
_WRITER_OPTIONS: Final = {"batchsize": "5000", "reWriteBatchedInserts": "true"}
_READER_OPTIONS: Final = {
    "fetchsize": "10000",
    "preferTimestampNTZ": "true",
    "sessionInitStatement": "SET TIME ZONE 'UTC'",
}


def is_for_driver(job: JobFile) -> bool:
    """Return whether the driver copies the rows of a job: few, in files with the columns of the table."""
    sizes = [MAX_DRIVER_BYTES + 1 if part.data.bytes is None else part.data.bytes for part in job.parts]
    return job.is_flat and sum(sizes) <= MAX_DRIVER_BYTES


def job_frame(job: JobFile, table: Table, *, has_position: bool, spark: SparkSession) -> DataFrame:
    """Return the rows of a job with the columns of the table that they have, and their position as text."""
    frame = staged_frame(job, spark, with_position=has_position)
    columns = [
        F.col(quote_name(column.name)).cast(spark_type(column)).alias(column.name)
        for column in table.complete_columns()
        if column.name in frame.columns
    ]
    return frame.select(*columns, *([F.col(quote_name(POSITION))] if has_position else []))


class ExecutorsLackPsycopg(Exception):
    """Executors cannot load psycopg, so that they cannot copy rows."""


def assert_executors_have_psycopg(spark: SparkSession, *, tasks: int) -> None:
    """Raise `ExecutorsLackPsycopg` if one of so many tasks cannot load psycopg."""
    probe = serialize_by_value(PsycopgProbe(), executor_task)
    frame = spark.range(tasks, numPartitions=tasks).mapInArrow(serialized_mapper(probe), PROBE_SCHEMA)
    for outcome in frame.collect():
        raise ExecutorsLackPsycopg(outcome["missing"])


def copy_on_executors(frame: DataFrame, copy: ExecutorCopy, *, connections: int) -> tuple[int, Counter[str]]:
    """Copy the rows over at most so many connections; return their number, and the replaced texts by column.

    Raises `ExecutorsLackPsycopg` if one of them has none.
    """
    inner = serialize_by_value(copy, binary_copy, copy_task, sqlstates)
    task = serialize_by_value(PartitionCopier(inner, loads), executor_task)
    try:
        outcomes = frame.coalesce(connections).mapInArrow(serialized_mapper(task), OUTPUT_SCHEMA).collect()
    except PySparkException as error:
        text = redact(str(error))
        if TRANSIENT_MARK not in text:
            raise
        reason = text.partition(TRANSIENT_MARK)[2].partition("\n")[0]
        raise DestinationTransientException(reason, hint=RUN_AGAIN_HINT) from error
    for outcome in outcomes:
        if outcome["missing"] is not None:
            raise ExecutorsLackPsycopg(outcome["missing"])
        if outcome["error"] is not None:
            raise DestinationTerminalException(redact(outcome["error"]), hint=ROWS_HINT)
    replaced: Counter[str] = Counter()
    for outcome in outcomes:
        replaced.update(json.loads(outcome["replaced"]))
    return sum(outcome["rows"] for outcome in outcomes), replaced


def write_texts(frame: DataFrame, copy: StagingCopy, options: Mapping[str, str], *, connections: int) -> None:
    """Write the rows as texts by Spark's JDBC writer, over at most so many connections.

    `options` are those of the writer, with its table. One of the connections is that of Spark's driver.
    """
    task = serialize_by_value(TextRows(copy.types), text_rows, binary_copy)
    rows = frame.coalesce(max(1, connections - 1)).mapInArrow(
        serialized_mapper(task), text_schema(copy.types)
    )
    assert_options_are_masked(frame.sparkSession)
    writer = rows.write.format("jdbc").mode("append").options(**options, **_WRITER_OPTIONS)
    try:
        writer.save()
    except Exception as error:  # classic sessions raise Java errors unchanged
        wrapped = as_jdbc_error(error)
        if wrapped is None:
            raise
        raise wrapped from error


def read_queries(queries: Sequence[str], options: Mapping[str, str], *, spark: SparkSession) -> DataFrame:
    """Return a frame with the rows of all queries, each of which Spark reads over one connection."""
    assert_options_are_masked(spark)
    reader = spark.read.format("jdbc").options(**options, **_READER_OPTIONS)
    try:
        frames = [reader.option("query", query).load() for query in queries]
    except Exception as error:  # as above
        wrapped = as_jdbc_error(error)
        if wrapped is None:
            raise
        raise wrapped from error
    return reduce(lambda merged, frame: merged.unionAll(frame), frames)
