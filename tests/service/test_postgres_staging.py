"""Parts of a staging table are copied once, whatever runs twice; attempts do not disturb each other."""

from __future__ import annotations

import threading
import uuid
from typing import TYPE_CHECKING, Any

import psycopg
import pyarrow as pa
import pytest
from psycopg import sql
from tests.service.postgres import URL

from penstock.destinations.postgres.copy_task import ExecutorCopy, StagingCopy
from penstock.destinations.postgres.settings import PostgresCredentials
from penstock.destinations.postgres.staging import LoadStaging
from penstock.errors import DestinationTransientException

if TYPE_CHECKING:
    from collections.abc import Iterator


COLUMNS = {"id": ("bigint", "int8")}
ROWS = [pa.record_batch({"id": [1, 2, 3]})]


@pytest.fixture
def connection() -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(URL, autocommit=True) as connection:
        yield connection


@pytest.fixture
def staging(connection: psycopg.Connection[Any]) -> Iterator[LoadStaging]:
    staging = LoadStaging(f"shop_{uuid.uuid4().hex[:8]}", "1700000000.1")
    staging.create(connection, pipeline_name="shop")
    yield staging
    staging.drop(connection)


def staged_ids(connection: psycopg.Connection[Any], copy: StagingCopy) -> list[int]:
    query = sql.SQL("SELECT id FROM {} ORDER BY id").format(sql.Identifier(copy.schema, copy.table))
    return [number for (number,) in connection.execute(query)]


def test_a_part_that_is_copied_again_is_stored_once(
    connection: psycopg.Connection[Any], staging: LoadStaging
) -> None:
    copy = staging.begin(connection, "orders.1.reference", COLUMNS)

    results = [copy.copy_part(connection, part, ROWS) for part in (0, 0, 1)]

    assert [rows for rows, _ in results] == [3, 3, 3]
    assert staged_ids(connection, copy) == [1, 1, 2, 2, 3, 3]


def test_a_part_that_two_tasks_copy_at_the_same_time_is_stored_once(
    connection: psycopg.Connection[Any], staging: LoadStaging
) -> None:
    staging_copy = staging.begin(connection, "orders.1.reference", COLUMNS)
    task = ExecutorCopy(staging_copy, "orders", PostgresCredentials(URL).parameters(), {"TimeZone": "UTC"})
    threads = [threading.Thread(target=task.copy_partition, args=(0, ROWS)) for _ in range(4)]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert staged_ids(connection, staging_copy) == [1, 2, 3]


def test_a_task_that_fails_leaves_nothing_and_its_part_can_be_copied_again(
    connection: psycopg.Connection[Any], staging: LoadStaging
) -> None:
    def broken() -> Iterator[pa.RecordBatch]:
        yield from ROWS
        raise ConnectionResetError

    copy = staging.begin(connection, "orders.1.reference", COLUMNS)
    with pytest.raises(ConnectionResetError):
        copy.copy_part(connection, 0, broken())
    before = staged_ids(connection, copy)
    copy.copy_part(connection, 0, ROWS)

    assert (before, staged_ids(connection, copy)) == ([], [1, 2, 3])


def test_a_task_of_an_earlier_attempt_cannot_write_any_more(
    connection: psycopg.Connection[Any], staging: LoadStaging
) -> None:
    first = staging.begin(connection, "orders.1.reference", COLUMNS)
    second = staging.begin(connection, "orders.1.reference", COLUMNS)

    with pytest.raises(psycopg.errors.UndefinedTable):
        first.copy_part(connection, 0, ROWS)
    with pytest.raises(DestinationTransientException):
        staging.complete(connection, "orders.1.reference", first, 3)
    second.copy_part(connection, 0, ROWS)
    staging.complete(connection, "orders.1.reference", second, 3)

    assert list(staging.complete_jobs(connection)) == ["orders.1.reference"]
    assert staged_ids(connection, second) == [1, 2, 3]


def test_a_value_that_cannot_be_stored_is_a_result_without_the_value(
    connection: psycopg.Connection[Any], staging: LoadStaging
) -> None:
    columns = {"code": ("varchar(3)", "text")}
    copy = staging.begin(connection, "orders.1.reference", columns)
    task = ExecutorCopy(copy, "orders", PostgresCredentials(URL).parameters(), {"TimeZone": "UTC"})

    rows, _, refused = task.copy_partition(0, [pa.record_batch({"code": ["private"]})])

    assert rows == 0
    assert refused == (
        "Postgres refused a statement for orders.code: "
        "value too long for type character varying(3) (SQLSTATE 22001)"
    )
