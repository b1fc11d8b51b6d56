"""Queries of an incremental about transactions, run on the Postgres of `make up` without Spark."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg.rows import dict_row
from tests.service.postgres import URL, execute, new_schema

from penstock.sources.sql_database.dialects import APPLICATION_NAME, DIALECTS
from penstock.sources.sql_database.queries import CursorWindow, RowQuery
from penstock.sources.sql_database.reflection import keys_query
from penstock.sources.sql_database.snapshot_wait import (
    RunningTransaction,
    parse_snapshot,
    running_query,
    snapshot_query,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

POSTGRES = DIALECTS["postgresql"]


@pytest.fixture
def schema() -> Iterator[str]:
    with new_schema() as name:
        yield name


def asked(query: str, *, zone: str = "America/Los_Angeles") -> list[dict[str, Any]]:
    """Return the rows of a query, in a session west of UTC by default."""
    with psycopg.connect(URL, row_factory=dict_row) as connection:
        connection.execute(f"SET TIME ZONE '{zone}'")
        return connection.execute(query.encode()).fetchall()


def running(rows: RowQuery) -> tuple[str, ...]:
    return parse_snapshot(asked(snapshot_query(rows, "id"))[0]).running


def own_name(connection: psycopg.Connection[Any]) -> str:
    """Return the id of the transaction of a connection."""
    query = "SELECT virtualtransaction FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'virtualxid'"
    return str(connection.execute(query).fetchall()[0][0])


@pytest.fixture
def rows(schema: str) -> RowQuery:
    execute(f"CREATE TABLE {schema}.events (id bigserial PRIMARY KEY)")
    return RowQuery(dialect=POSTGRES, schema=schema, table="events", postgres_types=(("id", "bigint"),))


def test_one_statement_that_may_write_is_still_running(schema: str, rows: RowQuery) -> None:
    """A procedure is one statement that may write at any time."""
    with psycopg.connect(URL) as connection:
        connection.execute("SELECT 1")
        name = own_name(connection)

        assert name in running(rows)
        assert [RunningTransaction(**row) for row in asked(running_query([name]))] == [
            RunningTransaction(name=name, writes=False)
        ]
        connection.execute(f"INSERT INTO {schema}.events DEFAULT VALUES")
        assert [RunningTransaction(**row) for row in asked(running_query([name]))] == [
            RunningTransaction(name=name, writes=True)
        ]


def test_connections_that_read_for_penstock_are_not_waited_for(rows: RowQuery) -> None:
    with psycopg.connect(URL, application_name=APPLICATION_NAME) as connection:
        connection.execute("SELECT 1")

        assert own_name(connection) not in running(rows)


def test_maintenance_does_not_write_rows(schema: str, rows: RowQuery) -> None:
    with psycopg.connect(URL) as connection:
        connection.execute(f"LOCK TABLE {schema}.events IN SHARE UPDATE EXCLUSIVE MODE")
        name = own_name(connection)

        assert [RunningTransaction(**row) for row in asked(running_query([name]))] == [
            RunningTransaction(name=name, writes=False)
        ]


@pytest.mark.parametrize(
    ("kind", "existing", "values", "reached"),
    [
        ("uuid", "uuid", ("5f0c6f2e-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000001"), 0),
        ('text COLLATE "en-x-icu"', "text", ("a", "B"), 0),
        ("varchar(9)", "character varying", ("B", "a"), 1),
        ("inet", None, ("10.0.0.1", "9.0.0.1"), 1),
        ("timestamptz", "timestamptz", ("2024-01-01 00:00:00+00", "2023-01-01 00:00:00+00"), 0),
    ],
)
def test_the_furthest_value_is_that_of_spark(
    schema: str, kind: str, existing: str | None, values: tuple[str, ...], reached: int
) -> None:
    execute(f"CREATE TABLE {schema}.things (c {kind})")
    for value in (*(f"'{item}'" for item in values), "NULL"):
        execute(f"INSERT INTO {schema}.things VALUES ({value})")
    rows = RowQuery(dialect=POSTGRES, schema=schema, table="things")
    rows = (
        replace(rows, postgres_types=(("c", existing),))
        if existing
        else replace(rows, text_columns=frozenset(("c",)))
    )

    (answer,) = asked(snapshot_query(rows, "c"), zone="UTC")
    window = CursorWindow(column="c", visible_until=answer["reached"], includes_nulls=False)
    within = asked(replace(rows, window=window).select())

    assert str(answer["reached"]).startswith(values[reached])
    assert len(within) == 2


def test_a_query_continues_from_a_timestamp_in_utc(schema: str) -> None:
    execute(f"CREATE TABLE {schema}.events (at timestamptz, local timestamp)")
    execute(f"INSERT INTO {schema}.events VALUES ('2024-01-01 05:00+00', '2024-01-01 05:00')")
    rows = RowQuery(dialect=POSTGRES, query=f"SELECT * FROM {schema}.events; -- all of them")

    for column in ("at", "local"):
        window = CursorWindow(column=column, start=datetime(2024, 1, 1, 4, tzinfo=UTC))
        assert len(asked(replace(rows, window=window).select())) == 1
        window = replace(window, start=datetime(2024, 1, 1, 6, tzinfo=UTC))
        assert asked(replace(rows, window=window).select()) == []


def test_a_column_counts_as_a_key_if_it_is_unique_by_itself(schema: str) -> None:
    execute(f"CREATE TABLE {schema}.events (at timestamptz, code text UNIQUE, a int, b int, UNIQUE (a, b))")
    execute(f"CREATE INDEX ON {schema}.events (at)")

    result = asked(keys_query(POSTGRES, schema, None))

    assert [(row["column_name"], row["kind"]) for row in result] == [("code", "unique")]
