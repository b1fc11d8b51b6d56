"""Writes the rows of a job once, and sends batches from executors in rounds of limited time."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow.parquet as pq
from pyspark.sql import functions as F

from penstock.destinations.functions import executor_task
from penstock.destinations.functions.executor_task import (
    BATCH_COLUMN,
    OUTPUT_SCHEMA,
    ROW_COLUMN,
    BatchCall,
    PartitionSender,
)
from penstock.errors import UsageError
from penstock.package.layout import DATA_FOLDER
from penstock.package.sql import quote_name
from penstock.schema import Column, spark_type
from penstock.spark.paths import spark_path
from penstock.spark.probe import count_task_slots
from penstock.spark.serialization import loads, serialize_by_value, serialized_mapper, without_defaults

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession

    from penstock.destinations.functions.progress import BatchProgress
    from penstock.destinations.functions.settings import FunctionConfiguration
    from penstock.package.job_file import JobFile
    from penstock.package.storage import FileStorage
    from penstock.schema import TTableSchema


_ROWS_FOLDER: Final = f"{DATA_FOLDER}/batches"


def write_files(
    job: JobFile, table: TTableSchema, store: FileStorage, *, spark: SparkSession
) -> tuple[tuple[str, int], ...]:
    """Write the rows of a job into a new folder; return the files with their numbers of rows."""
    folder = f"{_ROWS_FOLDER}/{job.name.file_id}/{uuid.uuid4().hex}"
    rows = job.frame(spark)
    columns = []
    for name, document in table["columns"].items():
        value = quote_name(name) if name in rows.columns else "NULL"
        sql_type = spark_type(Column.from_dict(document, name=name))
        columns.append(f"CAST({value} AS {sql_type}) AS {quote_name(name)}")
    rows.selectExpr(*columns).write.mode("overwrite").parquet(spark_path(store.path(folder)))
    names = sorted(entry.name for entry in store.entries(folder) if entry.name.endswith(".parquet"))
    counted = ((f"{folder}/{name}", _row_count(store, f"{folder}/{name}")) for name in names)
    return tuple((name, rows_in_file) for name, rows_in_file in counted if rows_in_file)


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedBatch:
    """A batch for which the function raised an error on an executor."""

    number: int
    message: str
    traceback: str
    is_terminal: bool


class ExecutorSender:
    """Calls the function on executors; every batch is sorted and whole in one task."""

    def __init__(
        self, call: BatchCall, store: FileStorage, config: FunctionConfiguration, spark: SparkSession
    ) -> None:
        _check_speculation(spark)
        self._store, self._spark = store, spark
        self._tasks = config.executor_tasks or count_task_slots(spark)
        self._runner = serialized_mapper(_serialized_task(call, seconds=config.executor_seconds))

    def send_round(self, progress: BatchProgress) -> tuple[list[int], list[FailedBatch]]:
        """Send pending batches for a limited time; return those that are sent, and those that failed."""
        rows = self._numbered_rows(progress).where(_is_pending(progress))
        sorted_rows = rows.repartition(self._tasks, BATCH_COLUMN).sortWithinPartitions(ROW_COLUMN)
        outcomes = sorted_rows.mapInArrow(self._runner, OUTPUT_SCHEMA).collect()
        sent = [outcome["batch"] for outcome in outcomes if outcome["error"] is None]
        failed = [
            FailedBatch(
                number=outcome["batch"],
                message=outcome["error"],
                traceback=outcome["trace"],
                is_terminal=outcome["terminal"],
            )
            for outcome in outcomes
            if outcome["error"] is not None
        ]
        return sent, failed

    def _numbered_rows(self, progress: BatchProgress) -> DataFrame:
        """Return the rows with their position in the job, and the number of their batch."""
        paths = [spark_path(self._store.path(name)) for name, _ in progress.files]
        row = _first_row(progress.files) + F.col("_metadata.row_index")
        numbered = self._spark.read.parquet(*paths).select("*", row.alias(ROW_COLUMN))
        batch = F.floor(F.col(ROW_COLUMN) / progress.batch_size).cast("long")
        return numbered.withColumn(BATCH_COLUMN, batch)


def _first_row(files: Sequence[tuple[str, int]]) -> SparkColumn:
    """Return the position of the first row of the file that a row is in."""
    position, first_rows = 0, []
    for name, rows in files:
        first_rows += [F.lit(name.rpartition("/")[2]), F.lit(position)]
        position += rows
    return F.create_map(*first_rows)[F.col("_metadata.file_name")]


def _is_pending(progress: BatchProgress) -> SparkColumn:
    is_done = F.lit(False)  # noqa: FBT003 - a literal of Spark
    for first, last in progress.done:
        is_done |= F.col(BATCH_COLUMN).between(first, last)
    return ~is_done


def _serialized_task(call: BatchCall, *, seconds: float) -> bytes:
    function = without_defaults(call.function)
    try:
        code = serialize_by_value(
            BatchCall(
                function=function,
                table=call.table,
                arguments=call.arguments,
                batch_arguments=call.batch_arguments,
                load_id=call.load_id,
                as_rows=call.as_rows,
            ),
            executor_task,
        )
    except Exception as error:  # a user's object may raise anything when it is pickled
        raise UsageError(
            f"{function.__name__} cannot be serialized for executors: {type(error).__name__}: {error}",
            hint="create connections and clients in the function, or use where='driver'",
        ) from error
    return serialize_by_value(PartitionSender(code, loads, seconds=seconds), executor_task)


def _check_speculation(spark: SparkSession) -> None:
    if (spark.conf.get("spark.speculation", "false") or "").strip().lower() == "true":
        raise UsageError(
            "spark.speculation=true would send batches twice",
            hint="start Spark with spark.speculation=false, or use where='driver'",
        )


def _row_count(store: FileStorage, name: str) -> int:
    with store.open(name) as stream:
        return int(pq.ParquetFile(stream).metadata.num_rows)
