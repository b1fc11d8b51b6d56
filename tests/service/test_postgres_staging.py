"""Parts of a staging table are copied once, whatever runs twice; attempts do not disturb each other."""

from __future__ import annotations

import json
import threading
import uuid
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import psycopg
import pyarrow as pa
import pytest
from psycopg import sql
from sqlglot import exp
from tests.service.postgres import URL

from penstock.destinations.postgres.copy_task import ExecutorCopy, StagingCopy
from penstock.destinations.postgres.page_ranges import no_newer_load, page_ranges
from penstock.destinations.postgres.settings import PostgresCredentials
from penstock.destinations.postgres.staging import LoadStaging
from penstock.destinations.postgres.text_rows import TextRows
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


TYPES = {
    "id": ("bigint", "int8"),
    "ratio": ("double precision", "float8"),
    "paid": ("boolean", "bool"),
    "price": ("numeric(38,9)", "numeric"),
    "day": ("date", "date"),
    "at": ("timestamp with time zone", "timestamptz"),
    "seen": ("timestamp without time zone", "timestamp"),
    "hour": ("time without time zone", "time"),
    "code": ("varchar(3)", "text"),
    "extra": ("jsonb", "jsonb"),
    "photo": ("bytea", "bytea"),
}
VALUES: dict[str, Any] = {
    "id": -(2**63),
    "ratio": 1e-300,
    "paid": True,
    "price": Decimal("12345678901234567890.123456789"),
    "day": date(1, 1, 1),
    "at": datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    "seen": datetime(1582, 10, 10, 1, 2, 3),
    "hour": time(23, 59, 59, 999_999),
    "code": "a\tb",
    "extra": {"key": [1, None]},
    "photo": b"\0\xff",
}


def written(copy: StagingCopy, *batches: pa.RecordBatch) -> list[dict[str, Any]]:
    """Return the rows that a task hands to a JDBC writer."""
    return [row for batch in TextRows(copy.types).run(batches) for row in batch.to_pylist()]


def insert(connection: psycopg.Connection[Any], texts: str, rows: list[dict[str, Any]]) -> None:
    """Insert rows as a JDBC writer does: by the names of their columns, in one transaction."""
    names = list(rows[0])
    statement = f"INSERT INTO {texts} ({', '.join(names)}) VALUES ({', '.join(['%s'] * len(names))})"
    with connection.transaction():
        connection.cursor().executemany(statement, [list(row.values()) for row in rows])


def test_texts_of_a_jdbc_writer_become_the_values_of_their_columns(
    connection: psycopg.Connection[Any], staging: LoadStaging
) -> None:
    copy = staging.begin(connection, "orders.1.reference", TYPES)
    extra = json.dumps(VALUES["extra"])
    row = {**VALUES, "hour": VALUES["hour"].isoformat(), "extra": extra}
    batch = pa.RecordBatch.from_pylist(
        [row, dict.fromkeys(TYPES)], schema=pa.RecordBatch.from_pylist([row]).schema
    )
    texts = staging.begin_texts(connection, copy)

    insert(connection, texts, written(copy, batch))
    notes = staging.copy_texts(connection, copy)

    connection.execute("SET TIME ZONE 'UTC'")
    query = sql.SQL("SELECT * FROM {} ORDER BY id").format(sql.Identifier(copy.schema, copy.table))
    assert connection.execute(query).fetchall() == [tuple(VALUES.values()), (None,) * len(TYPES)]
    assert notes == [{"rows": 2, "replaced": {}, "error": None}]


def test_a_part_that_a_jdbc_writer_inserts_twice_is_stored_once(
    connection: psycopg.Connection[Any], staging: LoadStaging
) -> None:
    copy = staging.begin(connection, "orders.1.reference", COLUMNS)
    texts = staging.begin_texts(connection, copy)
    part, other = written(copy, *ROWS), [{**row, "part": 1} for row in written(copy, *ROWS)]

    with psycopg.connect(URL) as running:  # a task of a lost executor, which commits later
        running.cursor().execute(f"INSERT INTO {texts} (c0, part) VALUES ('99', 0)")
        for rows in (part, part, other, part):
            insert(connection, texts, rows)
        running.commit()
    notes = staging.copy_texts(connection, copy)

    assert [note["rows"] for note in notes] == [3, 3]
    assert staged_ids(connection, copy) == [1, 1, 2, 2, 3, 3]
    assert connection.execute("SELECT to_regclass(%s)", [texts]).fetchone() == (None,)


def test_rows_of_a_part_that_are_not_complete_are_not_copied(
    connection: psycopg.Connection[Any], staging: LoadStaging
) -> None:
    copy = staging.begin(connection, "orders.1.reference", COLUMNS)
    texts = staging.begin_texts(connection, copy)
    insert(connection, texts, written(copy, *ROWS)[1:])

    with pytest.raises(DestinationTransientException, match="2 rows into staging instead of 3"):
        staging.copy_texts(connection, copy)

    assert staged_ids(connection, copy) == []


def test_a_jdbc_writer_gets_replaced_characters_and_no_years_that_cannot_be_read(
    connection: psycopg.Connection[Any], staging: LoadStaging
) -> None:
    copy = staging.begin(connection, "notes.1.reference", {"note": ("text", "text"), "day": ("date", "date")})
    good = pa.record_batch({"note": ["a\0b", "c"], "day": pa.array([0, 1], pa.date32())})
    bad = pa.record_batch({"note": ["d"], "day": pa.array([2_932_897], pa.date32())})

    clean, note = written(copy, good)[0], json.loads(written(copy, good)[-1]["note"])
    refused = json.loads(written(copy, good, bad, good)[-1]["note"])

    assert clean == {"c0": "a\ufffdb", "c1": "1970-01-01", "part": 0, "note": None}
    assert note == {"rows": 2, "replaced": {"note": 1}, "error": None}
    assert refused["error"] == {"column": "day", "reason": "date: a year outside 1 to 9999"}


def test_ranges_of_pages_have_each_row_once_and_fail_after_another_load(
    connection: psycopg.Connection[Any], staging: LoadStaging
) -> None:
    table, loads = (exp.table_(name, db=staging.schema, quoted=True) for name in ("large", "_dlt_loads"))
    connection.execute(sql.SQL("SET search_path TO {}").format(sql.Identifier(staging.schema)))
    connection.execute("CREATE TABLE _dlt_loads (load_id text)")
    connection.execute(
        "CREATE UNLOGGED TABLE large AS SELECT n, repeat('x', 400) FROM generate_series(1, 90000) n"
    )
    size = connection.execute("SELECT pg_relation_size('large')").fetchall()[0][0]

    ranges = page_ranges(size, 8192, 150_000, most=8)
    sums = exp.select(exp.Count(this=exp.Star()), exp.Sum(this=exp.column("n"))).from_(table)
    queries = [sums.where(place, no_newer_load(loads, 0)).sql(dialect="postgres") for place in ranges]
    counts, totals = zip(*(connection.execute(query).fetchall()[0] for query in queries), strict=True)
    connection.execute("INSERT INTO _dlt_loads VALUES ('1')")

    assert (len(counts), sum(counts), sum(totals)) == (2, 90_000, 90_000 * 90_001 // 2)
    with pytest.raises(psycopg.Error, match="a load was committed after this frame was created"):
        connection.execute(queries[-1])
    plan = connection.execute(f"EXPLAIN {queries[0]}").fetchall()
    assert "Tid Range Scan" in str(plan)
