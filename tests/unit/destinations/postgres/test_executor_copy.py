"""The task of executors: by value, without readable secrets, and with a result where psycopg is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.destinations.postgres import binary_copy, copy_task, executor_task, sqlstates
from penstock.destinations.postgres.copy_task import ExecutorCopy, StagingCopy
from penstock.destinations.postgres.executor_task import PartitionCopier
from penstock.spark.serialization import loads, serialize_by_value, serialized_mapper

if TYPE_CHECKING:
    from collections.abc import Iterator

SECRET = "correct horse battery staple"


def test_the_task_is_sent_by_value_and_its_secret_is_not_readable() -> None:
    staging = StagingCopy(schema="shop_staging", table="attempt", types={"id": "int8"})
    copy = ExecutorCopy(staging, "orders", {"host": "db", "password": SECRET}, {"TimeZone": "UTC"})

    inner = serialize_by_value(copy, binary_copy, copy_task, sqlstates)
    mapper = serialized_mapper(serialize_by_value(PartitionCopier(inner, loads), executor_task))

    assert SECRET.encode() not in serialize_by_value(mapper)
    assert loads(inner).parameters["password"] == SECRET


def test_a_missing_psycopg_is_a_result_and_the_rows_are_read_to_the_end() -> None:
    read = []

    def batches() -> Iterator[pa.RecordBatch]:
        for number in range(3):
            read.append(number)
            yield pa.record_batch({"id": [number]})

    def missing(task: bytes) -> Any:
        del task
        raise ModuleNotFoundError("No module named 'psycopg'", name="psycopg")

    (outcome,) = PartitionCopier(b"", missing).run(batches())

    assert outcome.column("missing").to_pylist() == ["No module named 'psycopg'"]
    assert read == [0, 1, 2]
