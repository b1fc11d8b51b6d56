"""Tables of the Postgres that `make up` starts: types, ranges, and rows that are committed meanwhile."""

from __future__ import annotations

import random
import re
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from decimal import Decimal
from statistics import median
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from pyspark.sql import functions as F
from tests.service.postgres import URL, execute, new_schema, query
from tests.step_failures import step_raises

import penstock
from penstock.errors import DatabaseNotReachable, DatabaseQueryFailed, PipelineStepFailed, TransactionsRunning
from penstock.sources.sql_database import sql_database, sql_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

TYPES = """
CREATE TYPE {schema}.mood AS ENUM ('happy', 'sad');
CREATE TABLE {schema}.makers (id int PRIMARY KEY, name text);
CREATE TABLE {schema}.everything (
  id bigint PRIMARY KEY, small smallint NOT NULL, price numeric(10, 2), exact numeric, whole numeric(30, 0),
  ratio double precision, flag boolean, title varchar(20), code char(3), body jsonb, tags text[], key uuid,
  day date, at timestamptz, local timestamp, hour time, raw bytea, feeling {schema}.mood, cost money,
  "Strange Name" text, address inet, maker int REFERENCES {schema}.makers (id)
);
INSERT INTO {schema}.makers VALUES (1, 'ada');
INSERT INTO {schema}.everything VALUES (
  1, 2, 12.34, 123456789012345678901234567890.5, 123456789012345678901234567890, 0.5, true, 'tea', 'ab',
  '{{"a": [1, 2]}}', ARRAY['x', 'y'], '5f0c6f2e-0000-4000-8000-000000000001', '2024-02-29',
  '2024-02-29 12:00:00.123456+02', '2024-02-29 12:00:00.5', '07:08:09.5', '\\x0102', 'happy', 9.99, 'strange',
  '10.0.0.1', 1
), (2, 3, NULL, 1.5, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
  NULL, NULL, NULL);
CREATE VIEW {schema}.cheap AS SELECT id, price FROM {schema}.everything;
"""
VALUES: dict[str, Any] = {
    "id": 1,
    "small": 2,
    "price": Decimal("12.34"),
    "exact": None,
    "exact__v_text": "123456789012345678901234567890.5",
    "whole": Decimal("123456789012345678901234567890"),
    "ratio": 0.5,
    "flag": True,
    "title": "tea",
    "code": "ab ",
    "body": '{"a": [1, 2]}',
    "tags": '["x","y"]',
    "key": "5f0c6f2e-0000-4000-8000-000000000001",
    "day": date(2024, 2, 29),
    "at": datetime(2024, 2, 29, 10, 0, 0, 123456, tzinfo=UTC),
    "local": datetime(2024, 2, 29, 12, 0, 0, 500000, tzinfo=UTC),
    "hour": "07:08:09.5",
    "raw": b"\x01\x02",
    "feeling": "happy",
    "cost": Decimal("9.99"),
    "strange_name": "strange",
    "address": "10.0.0.1/32",
    "maker": 1,
}


@pytest.fixture
def schema() -> Iterator[str]:
    with new_schema() as name:
        yield name


def test_types_keys_and_references_are_those_of_the_database(
    schema: str, pipeline: penstock.Pipeline
) -> None:
    execute(TYPES.format(schema=schema))

    pipeline.run(
        sql_database(
            URL, schema=schema, table_names=["everything", "makers", "cheap"], resolve_foreign_keys=True
        )
    )

    table = pipeline.default_schema.tables["everything"]
    types = {name: (column.data_type, column.is_nullable) for name, column in table.columns.items()}
    assert {name: item for name, item in types.items() if not name.startswith("_dlt")} == {
        "id": ("bigint", False),
        "small": ("bigint", False),
        **dict.fromkeys(("price", "exact", "whole", "cost"), ("decimal", True)),
        "ratio": ("double", True),
        "flag": ("bool", True),
        **dict.fromkeys(("title", "code", "key", "feeling", "strange_name", "address"), ("text", True)),
        **dict.fromkeys(("body", "tags"), ("json", True)),
        "day": ("date", True),
        **dict.fromkeys(("at", "local"), ("timestamp", True)),
        "hour": ("time", True),
        "raw": ("binary", True),
        "maker": ("bigint", True),
        "exact__v_text": ("text", True),
    }
    digits = {name: (table.columns[name].precision, table.columns[name].scale) for name in ("price", "cost")}
    assert digits == {"price": (10, 2), "cost": (20, 2)}
    assert table.columns_with("primary_key") == ("id",)
    assert table.to_dict()["references"] == [
        {"columns": ["maker"], "referenced_table": "makers", "referenced_columns": ["id"]}
    ]
    first, second = pipeline.dataset()(f"SELECT {', '.join(VALUES)} FROM everything ORDER BY id").fetchall()
    assert dict(zip(VALUES, first, strict=True)) == VALUES
    assert dict(zip(VALUES, second, strict=True)) == {
        **dict.fromkeys(VALUES),
        "id": 2,
        "small": 3,
        "exact": Decimal("1.5"),
    }
    assert len(pipeline.dataset()("SELECT * FROM cheap").fetchall()) == 2


def test_included_and_excluded_columns_and_queries(schema: str, pipeline: penstock.Pipeline) -> None:
    execute(TYPES.format(schema=schema))

    pipeline.run(
        [
            sql_table(URL, "everything", schema=schema, included_columns=["id", "body"]),
            sql_table(URL, "makers", schema=schema, excluded_columns=["name"]),
            sql_table(
                URL,
                "priced",
                query=f"SELECT id, '$' || price AS shown FROM {schema}.everything WHERE price IS NOT NULL",
                partition_column="id",
            ),
            sql_table(
                URL,
                "named",
                query=f"SELECT id, name, 'x' AS extra FROM {schema}.makers; -- all of them",
                incremental=penstock.sources.incremental("name"),
                excluded_columns=["extra"],
            ),
        ]
    )

    columns = {name: set(table.columns) for name, table in pipeline.default_schema.tables.items()}
    system = {"_dlt_id", "_dlt_load_id"}
    assert columns["everything"] == {"id", "body"} | system
    assert columns["makers"] == {"id"} | system
    assert pipeline.dataset()("SELECT id, shown FROM priced").fetchall() == [(1, "$12.34")]
    assert columns["named"] == {"id", "name"} | system


def fill(schema: str, table: str, keys: str, *, kind: str = "bigint", width: int = 400) -> None:
    """Create a table with a row for each key of a query, large enough for several ranges."""
    execute(f"CREATE TABLE {schema}.{table} (id {kind} PRIMARY KEY, filler text)")
    execute(f"INSERT INTO {schema}.{table} SELECT DISTINCT k, repeat('x', {width}) FROM ({keys}) q (k)")


def ranges(schema: str, table: str, spark: SparkSession, **options: Any) -> list[int]:
    """Return the number of rows in each range of a table, as Spark reads it."""
    (frame,) = [item for item in sql_table(URL, table, schema=schema, **options) if hasattr(item, "rdd")]
    counted = frame.groupBy(F.spark_partition_id().alias("part")).count().collect()
    return [row["count"] for row in counted]


@pytest.mark.parametrize(
    ("kind", "keys"),
    [
        ("bigint", "SELECT (random() ^ 6 * 1e12)::bigint - 1000 FROM generate_series(1, 200000)"),
        ("text", "SELECT md5(g::text) || 'Ä' FROM generate_series(1, 200000) g"),
        pytest.param(
            "uuid",
            "SELECT gen_random_uuid() FROM generate_series(1, 200000)",
            marks=pytest.mark.at_length,
        ),
        pytest.param(
            "timestamptz",
            "SELECT now() - g * interval '1 second' FROM generate_series(1, 200000) g",
            marks=pytest.mark.at_length,
        ),
    ],
)
def test_ranges_of_a_skewed_key_hold_about_the_same_number_of_rows(
    schema: str, spark: SparkSession, kind: str, keys: str
) -> None:
    fill(schema, "things", keys, kind=kind)

    result = ranges(schema, "things", spark)

    assert [(sum(result),)] == query(f"SELECT count(*) FROM {schema}.things")
    assert len(result) == 8
    assert max(result) <= 3 * median(result), result


def test_rows_without_a_key_are_read_as_a_separate_range(schema: str, spark: SparkSession) -> None:
    execute(f"CREATE TABLE {schema}.things (id int, filler text)")
    rows = "SELECT nullif(g % 1000, 7), repeat('x', 400) FROM generate_series(1, 50000) g"
    execute(f"INSERT INTO {schema}.things {rows}")

    result = ranges(schema, "things", spark, partition_column="id", partitions=3)

    assert sum(result) == 50000
    assert 50 in result


@pytest.mark.parametrize("collation", [pytest.param("C", marks=pytest.mark.at_length), "en-x-icu"])
def test_an_incremental_on_texts_loses_none_whatever_their_collation(
    schema: str, pipeline: penstock.Pipeline, collation: str
) -> None:
    execute(f'CREATE TABLE {schema}.names (name text COLLATE "{collation}")')
    for names in (("B",), ("C", "a"), ("b", "Z")):
        for name in names:
            execute(f"INSERT INTO {schema}.names VALUES ('{name}')")
        pipeline.run(sql_table(URL, "names", schema=schema, incremental=penstock.sources.incremental("name")))

    # Z is less than a in the order of bytes: it was committed too late.
    result = pipeline.dataset()("SELECT name FROM names ORDER BY name").fetchall()
    assert result == [("B",), ("C",), ("a",), ("b",)]


def test_the_newest_row_may_change_and_tables_get_columns_between_runs(
    schema: str, pipeline: penstock.Pipeline
) -> None:
    execute(f"CREATE TABLE {schema}.orders (id int PRIMARY KEY, state text)")
    execute(f"INSERT INTO {schema}.orders VALUES (1, 'new'), (2, 'new')")
    orders = sql_table(URL, "orders", schema=schema, incremental=penstock.sources.incremental("id"))
    pipeline.run(orders)
    execute(f"UPDATE {schema}.orders SET state = 'paid' WHERE id = 2")
    execute(f"ALTER TABLE {schema}.orders ADD COLUMN paid_by text")
    execute(f"INSERT INTO {schema}.orders VALUES (3, 'paid', 'ada')")

    pipeline.run(orders)

    result = pipeline.dataset()("SELECT id, state, paid_by FROM orders ORDER BY id").fetchall()
    assert result == [(1, "new", None), (2, "new", None), (3, "paid", "ada")]


@pytest.mark.at_length
def test_a_key_renamed_by_a_step_does_not_identify_rows(schema: str, pipeline: penstock.Pipeline) -> None:
    execute(f"CREATE TABLE {schema}.orders (id int PRIMARY KEY, at int)")
    execute(f"INSERT INTO {schema}.orders VALUES (1, 1), (2, 2)")
    orders = sql_table(URL, "orders", schema=schema, incremental=penstock.sources.incremental("at"))
    orders.add_map(lambda frame: frame.withColumnRenamed("id", "order_id"))
    pipeline.run(orders)
    execute(f"INSERT INTO {schema}.orders VALUES (3, 2)")

    pipeline.run(orders)

    assert sorted(pipeline.dataset()("SELECT order_id FROM orders").fetchall()) == [(1,), (2,), (3,)]


def loaded_while_written(
    schema: str, pipeline: penstock.Pipeline, runs: int, **options: Any
) -> dict[str, list[tuple[int]]]:
    """Return the loaded ids by cursor after several runs beside four writers, and the written ids."""
    execute(
        f"CREATE TABLE {schema}.events (id bigserial PRIMARY KEY, writer int, at timestamptz DEFAULT now())"
    )
    execute(f"CREATE INDEX ON {schema}.events (at)")
    over = threading.Event()

    def write(number: int) -> None:
        chance = random.Random(number)
        with psycopg.connect(URL) as connection:
            while not over.is_set():
                for _ in range(chance.randint(1, 5)):
                    connection.execute(f"INSERT INTO {schema}.events (writer) VALUES ({number})")
                    # A value is assigned; other transactions assign and commit later ones meanwhile.
                    time.sleep(chance.uniform(0, 0.3))
                connection.commit()

    def load() -> None:
        tables = [
            sql_table(URL, "events", schema=schema, incremental=penstock.sources.incremental(name), **options)
            for name in ("id", "at")
        ]
        pipeline.run([table.with_name(f"by_{table.incremental.cursor_path}") for table in tables])

    with ThreadPoolExecutor(4) as writers:
        running = [writers.submit(write, number) for number in range(4)]
        try:
            for _ in range(runs):
                load()
        finally:
            over.set()
        for item in running:
            item.result()
    load()

    result = {
        name: sorted(pipeline.dataset()(f"SELECT id FROM by_{name}").fetchall()) for name in ("id", "at")
    }
    return {**result, "written": sorted(query(f"SELECT id FROM {schema}.events"))}


@pytest.mark.parametrize("runs", [2, pytest.param(20, marks=pytest.mark.at_length)])
def test_rows_committed_late_are_not_lost(schema: str, pipeline: penstock.Pipeline, runs: int) -> None:
    result = loaded_while_written(schema, pipeline, runs)

    assert len(result["written"]) > 10 * runs
    assert result["id"] == result["at"] == result["written"]


@pytest.mark.at_length
def test_without_the_snapshot_wait_rows_committed_late_are_lost(
    schema: str, pipeline: penstock.Pipeline
) -> None:
    """Without this loss the test above would prove nothing."""
    result = loaded_while_written(schema, pipeline, 5, settle=0)

    assert set(result["id"]) < set(result["written"])


def test_a_transaction_that_does_not_end_fails_an_incremental(
    schema: str, pipeline: penstock.Pipeline
) -> None:
    execute(f"CREATE TABLE {schema}.events (id bigserial PRIMARY KEY)")
    execute(f"INSERT INTO {schema}.events DEFAULT VALUES")
    with psycopg.connect(URL) as connection:
        connection.execute(f"INSERT INTO {schema}.events DEFAULT VALUES")
        execute(f"INSERT INTO {schema}.events DEFAULT VALUES")
        cursor = penstock.sources.incremental("id")

        with pytest.raises(PipelineStepFailed) as failed:
            pipeline.run(sql_table(URL, "events", schema=schema, incremental=cursor, settle=0.5))

        assert isinstance(failed.value.exception, TransactionsRunning)
    pipeline.run(sql_table(URL, "events", schema=schema, incremental=penstock.sources.incremental("id")))
    assert sorted(pipeline.dataset()("SELECT id FROM events").fetchall()) == [(1,), (2,), (3,)]


def test_errors_of_connections_and_queries_have_the_message_of_the_database(
    schema: str, pipeline: penstock.Pipeline
) -> None:
    away = re.sub(r"//.*@[^/]*", "//ada:canary-for-a-password@127.0.0.1:1", URL)

    for table, kind, words in (
        (sql_table(away, "orders"), DatabaseNotReachable, "refused"),
        (
            sql_table(URL, "orders", query=f"SELECT nothing FROM {schema}.nowhere"),
            DatabaseQueryFailed,
            "nowhere",
        ),
    ):
        with step_raises(kind) as failed:
            pipeline.run(table)
        assert words in failed.value.reason
        assert "canary" not in "".join(traceback.format_exception(failed.value))


def test_an_error_while_rows_are_read_has_the_message_of_the_database(
    schema: str, pipeline: penstock.Pipeline
) -> None:
    broken = f"SELECT 1 / (5 - g) AS n FROM generate_series(1, 9) g, (SELECT '{schema}') s"
    slow = f"SELECT g AS n, pg_sleep(0.05)::text AS s FROM generate_series(1, 9999) g, (SELECT '{schema}') s"
    over = threading.Event()

    def terminate() -> None:
        while not over.wait(0.05):
            reading = f"query LIKE '%pg_sleep%{schema}%' AND state = 'active' AND pid <> pg_backend_pid()"
            query(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {reading}")

    with step_raises(DatabaseQueryFailed) as failed:
        pipeline.run(sql_table(URL, "numbers", query=broken))
    with ThreadPoolExecutor(1) as threads, step_raises(DatabaseNotReachable) as ended:
        threads.submit(terminate)
        try:
            pipeline.run(sql_table(URL, "sleepers", query=slow))
        finally:
            over.set()

    assert (failed.value.resource, ended.value.resource) == ("numbers", "sleepers")
    assert failed.value.reason == "org.postgresql.util.PSQLException: ERROR: division by zero"
    assert "terminating connection" in ended.value.reason
    assert penstock.retry.retry_load(["extract"])(ended.failed[0])
    assert not penstock.retry.retry_load(["extract"])(failed.failed[0])


@pytest.mark.at_length
def test_many_tables_share_the_connections(schema: str, pipeline: penstock.Pipeline) -> None:
    names = [f"t{number}" for number in range(8)]
    for name in names:
        execute(f"CREATE TABLE {schema}.{name} (id int PRIMARY KEY, filler text)")
        execute(f"INSERT INTO {schema}.{name} SELECT g, repeat('x', 1800) FROM generate_series(1, 12000) g")
    output = f"{URL}?ApplicationName={schema}"
    seen: list[int] = []
    over = threading.Event()

    def look() -> None:
        # A connection closed by the client exists, idle, until its server process notices.
        query = (
            f"SELECT count(*) FROM pg_stat_activity WHERE application_name = '{schema}'"
            " AND (state <> 'idle' OR clock_timestamp() - state_change > interval '1 s')"
        )
        with psycopg.connect(URL, autocommit=True) as connection:
            while not over.is_set():
                seen.extend(number for (number,) in connection.execute(query))
                time.sleep(0.005)

    watching = threading.Thread(target=look)
    watching.start()
    try:
        pipeline.run(sql_database(output, schema=schema, table_names=names, connections=3))
    finally:
        over.set()
        watching.join()

    counts = pipeline.dataset().row_counts(table_names=names)
    assert counts == dict.fromkeys(names, 12000)
    assert 2 <= max(seen) <= 3
