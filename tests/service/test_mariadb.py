"""Tables of MariaDB, by its own driver and by that of MySQL: types, ranges, cursors and errors."""

from __future__ import annotations

import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, date, datetime
from decimal import Decimal
from statistics import median
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F
from sqlglot import exp
from tests.service.mariadb import DRIVERS, URL, execute, new_database, url
from tests.step_failures import step_raises

import penstock
from penstock.errors import DatabaseNotReachable, DatabaseQueryFailed
from penstock.sources.sql_database import sql_database, sql_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.at_length,
    pytest.mark.skipif(not (URL and DRIVERS), reason="needs `dev.parts up mariadb`, and the jars of drivers"),
]

TYPES = """
SET sql_mode = '';
CREATE TABLE makers (id int PRIMARY KEY, name text);
CREATE TABLE everything (
  id bigint PRIMARY KEY AUTO_INCREMENT, small tinyint NOT NULL, flag tinyint(1), big bigint unsigned,
  half int unsigned, price decimal(10, 2), long_price decimal(60, 5), ratio double, real_one float,
  title varchar(20), code char(3), body json, born year, day date, at timestamp(6) NULL, local datetime(3),
  hour time(1), raw varbinary(10), feeling enum('happy', 'sad'), several set('x', 'y'),
  `Strange ``Name` text, on_off bit(1), bits bit(8), long_bits bit(64), ip inet6,
  no_day date NOT NULL DEFAULT '0000-00-00', no_moment datetime NOT NULL DEFAULT '0000-00-00 00:00:00',
  maker int, CONSTRAINT made FOREIGN KEY (maker) REFERENCES makers (id)
);
INSERT INTO makers VALUES (1, 'ada');
SET time_zone = '+02:00';
INSERT INTO everything VALUES (
  1, -2, 1, 18446744073709551615, 4294967295, 12.34, 1234567890123456789012345678901234567890.5, 0.5, 0.25,
  'Tee 🍵', 'ab', '{"a": [1, 2]}', 1999, '2024-02-29', '2024-02-29 12:00:00.123456',
  '2024-02-29 12:00:00.5', '07:08:09.5', x'0102', 'happy', 'x,y', 'strange', b'1', b'10000001',
  b'1000000000000000000000000000000000000000000000000000000000000001', '::1', '0000-00-00',
  '0000-00-00 00:00:00', 1
);
INSERT INTO everything (id, small) VALUES (2, 3);
CREATE VIEW cheap AS SELECT id, price FROM everything;
"""
VALUES: dict[str, Any] = {
    "id": 1,
    "small": -2,
    "flag": 1,
    "big": Decimal(18446744073709551615),
    "half": 4294967295,
    "price": Decimal("12.34"),
    "long_price": None,
    "long_price__v_text": "1234567890123456789012345678901234567890.50000",
    "ratio": 0.5,
    "real_one": 0.25,
    "title": "Tee 🍵",
    "code": "ab",
    "body": '{"a": [1, 2]}',
    "born": 1999,
    "day": date(2024, 2, 29),
    "at": datetime(2024, 2, 29, 10, 0, 0, 123456, tzinfo=UTC),
    "local": datetime(2024, 2, 29, 12, 0, 0, 500000, tzinfo=UTC),
    "hour": "07:08:09.5",
    "raw": b"\x01\x02",
    "feeling": "happy",
    "several": "x,y",
    "strange_name": "strange",
    "on_off": True,
    "bits": 129,
    "long_bits": Decimal(2**63 + 1),
    "ip": "::1",
    "no_day": None,
    "no_moment": None,
    "maker": 1,
}


@pytest.fixture
def database() -> Iterator[str]:
    with new_database() as name:
        yield name


@pytest.fixture(params=DRIVERS)
def address(request: pytest.FixtureRequest, database: str) -> str:
    return url(request.param, database)


def test_types_keys_and_references_are_those_of_the_database(
    database: str, address: str, pipeline: penstock.Pipeline
) -> None:
    execute(TYPES, database)

    pipeline.run(sql_database(address, include_views=True, resolve_foreign_keys=True))

    schema, dataset = pipeline.default_schema, pipeline.dataset()
    assert dataset.row_counts() == {"everything": 2, "makers": 1, "cheap": 2}
    rows = dataset.everything.order_by("id").arrow().to_pylist()
    result = {name: value for name, value in rows[0].items() if not name.startswith("_dlt")}
    assert result == VALUES
    assert {name for name, value in rows[1].items() if value is not None} == {
        *("id", "small", "_dlt_id", "_dlt_load_id")
    }
    columns = schema.tables["everything"].columns
    assert [name for name, column in columns.items() if column.hints.get("primary_key")] == ["id"]
    assert (columns["id"].is_nullable, columns["small"].is_nullable, columns["price"].is_nullable) == (
        *(False, False, True),
    )


def test_ranges_of_a_skewed_key_hold_about_the_same_number_of_rows(
    database: str, address: str, spark: SparkSession
) -> None:
    execute(
        "CREATE TABLE things (id bigint PRIMARY KEY, filler text);"
        "INSERT IGNORE INTO things SELECT FLOOR(POW(RAND(7), 6) * 1e12) - 1000, REPEAT('x', 800)"
        " FROM seq_1_to_100000; ANALYZE TABLE things;",
        database,
    )

    (frame,) = [item for item in sql_table(address, "things") if hasattr(item, "rdd")]
    result = [row["count"] for row in frame.groupBy(F.spark_partition_id().alias("part")).count().collect()]

    assert sum(result) == int(execute("SELECT COUNT(*) FROM things", database))
    assert len(result) == 8
    assert max(result) <= 3 * median(result), result


@pytest.mark.parametrize("cursor", ["id", "at", "name"])
def test_an_incremental_reads_each_new_row_once(
    database: str, address: str, pipeline: penstock.Pipeline, cursor: str
) -> None:
    execute("CREATE TABLE orders (id int PRIMARY KEY, at datetime(6), name varchar(9))", database)
    orders = sql_table(address, "orders", incremental=penstock.sources.incremental(cursor))
    for first in (0, 10, 20):
        execute(
            "INSERT INTO orders"
            " SELECT n, '2024-03-31 01:59:59.999990' + INTERVAL n MICROSECOND, LPAD(n, 9, '0')"
            f" FROM (SELECT {first} + seq AS n FROM seq_1_to_10) q",
            database,
        )
        pipeline.run(orders)

    assert sorted(pipeline.dataset()("SELECT id FROM orders").fetchall()) == [
        (item,) for item in range(1, 31)
    ]
    assert pipeline.last_trace is not None
    (package,) = pipeline.last_trace.last_load_info.packages
    assert [table.rows for table in package.tables if table.table == "orders"] == [10]


@pytest.mark.parametrize("kind", ["varchar(40)", "char(40) CHARACTER SET latin1", "uuid", "inet6"])
def test_an_incremental_on_texts_loses_none_whatever_order_the_database_has(
    database: str, address: str, pipeline: penstock.Pipeline, kind: str
) -> None:
    execute(f"CREATE TABLE names (name {kind})", database)
    values = {
        "uuid": ("00000001-0000-1000-8000-000000000002", "00000002-0000-1000-8000-000000000001"),
        "inet6": ("10::", "9::"),
    }.get(kind, ("B\\", "a", "é's"))  # in the order of their bytes, which is not that of the database
    for name in values:
        execute(f"INSERT INTO names VALUES ({exp.Literal.string(name).sql(dialect='mysql')})", database)
        pipeline.run(sql_table(address, "names", incremental=penstock.sources.incremental("name")))

    assert sorted(pipeline.dataset()("SELECT name FROM names").fetchall()) == [(name,) for name in values]


@pytest.mark.parametrize("kind", ["date NOT NULL", "datetime", "timestamp NOT NULL DEFAULT now()"])
def test_zero_dates_are_read_where_missing_cursor_values_are_included(
    database: str, address: str, pipeline: penstock.Pipeline, kind: str
) -> None:
    cursor = penstock.sources.incremental("day", on_cursor_value_missing="include")
    execute(f"CREATE TABLE orders (id int PRIMARY KEY, day {kind})", database)
    for number, day in enumerate(("2024-05-01", "0000-00-00"), start=1):
        execute(f"SET sql_mode = ''; INSERT INTO orders VALUES ({number}, '{day}')", database)
        pipeline.run(sql_table(address, "orders", incremental=cursor))

    assert sorted(pipeline.dataset()("SELECT id FROM orders").fetchall()) == [(1,), (2,)]


def test_a_connection_lost_while_rows_are_read_raises_a_retryable_error(
    database: str, address: str, pipeline: penstock.Pipeline
) -> None:
    execute("CREATE TABLE sleepers (id int PRIMARY KEY, filler text)", database)
    execute("INSERT INTO sleepers SELECT seq, REPEAT('x', 100) FROM seq_1_to_9999", database)
    over = threading.Event()

    def end() -> None:
        reading = f"INFO LIKE '%SLEEP(0.05)%' AND DB = '{database}'"
        while not over.wait(0.05):
            for number in execute(f"SELECT ID FROM information_schema.PROCESSLIST WHERE {reading}").split():
                with suppress(AssertionError):  # the query may have ended
                    execute(f"KILL {number}")

    slow = "SELECT id, SLEEP(0.05) AS slept, filler FROM sleepers"
    with ThreadPoolExecutor(1) as threads, step_raises(DatabaseNotReachable) as failed:
        threads.submit(end)
        try:
            pipeline.run(sql_table(address, "slow", query=slow))
        finally:
            over.set()

    assert failed.value.resource == "slow"


def test_errors_of_connections_and_queries_have_the_message_of_the_database(
    database: str, address: str, pipeline: penstock.Pipeline
) -> None:
    away = address.split(":", 1)[0] + "://ada:canary-for-a-password@127.0.0.1:1/shop"

    for table, kind in (
        (sql_table(away, "orders"), DatabaseNotReachable),
        (sql_table(address, "orders", query=f"SELECT nothing FROM {database}.nowhere"), DatabaseQueryFailed),
    ):
        with step_raises(kind) as failed:
            pipeline.run(table)
        assert "canary" not in "".join(traceback.format_exception(failed.value))
    assert "nowhere" in failed.value.reason
