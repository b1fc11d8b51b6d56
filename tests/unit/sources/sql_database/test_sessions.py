"""Sessions for database queries, without Spark; a fake client stands for an older version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.sources.sql_database.options import sql_options_of

import penstock
from penstock.errors import DatabaseNotReachable, DatabaseQueryFailed, UsageError
from penstock.interfaces.run_context import override_context
from penstock.pipeline import workspace
from penstock.sources.sql_database import run, sql_database, table_reader
from penstock.sources.sql_database.jdbc import jdbc_config
from penstock.sources.sql_database.reflection import ReflectedTable
from penstock.sources.sql_database.run import Database
from penstock.sources.sql_database.table_reader import DatabaseReflection

if TYPE_CHECKING:
    from collections.abc import Iterator

URL = "postgresql://ada:hushhush@db/shop"


class Client:
    """A client of Spark Connect that is too old to clone its session."""

    __module__ = "pyspark.sql.connect.session"


def test_a_session_that_cannot_be_cloned_receives_no_password() -> None:
    received: list[Any] = []

    def lend(conf: Any) -> Client:
        received.extend(conf)
        return Client()

    with override_context(lend_session=lend), pytest.raises(UsageError, match="cannot clone"):
        Database(jdbc=jdbc_config(URL)).read("SELECT 1")
    assert received == []


class Failing:
    """A session in which no database can be read."""

    def __init__(self, text: str) -> None:
        self.text, self.read = text, self

    def format(self, _: str) -> Failing:
        return self

    def options(self, **_: str) -> Failing:
        return self

    def load(self) -> None:
        raise RuntimeError(f"An error occurred while calling o7.load.\n: {self.text}\n\tat org.x.A")


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("org.postgresql.util.PSQLException: Connection to db:5432 refused. Check", DatabaseNotReachable),
        ("org.postgresql.util.PSQLException: FATAL: sorry, too many clients already", DatabaseNotReachable),
        (
            "com.mysql.cj.jdbc.exceptions.CommunicationsException: Communications link failure",
            DatabaseNotReachable,
        ),
        ("java.sql.SQLRecoverableException: IO Error: The Network Adapter could not", DatabaseNotReachable),
        (
            'org.postgresql.util.PSQLException: ERROR: relation "refused_orders" does not exist',
            DatabaseQueryFailed,
        ),
        ('org.postgresql.util.PSQLException: FATAL: database "hushhush" does not exist', DatabaseQueryFailed),
        ("java.lang.IllegalStateException: Cannot call methods on a stopped SparkContext.", RuntimeError),
    ],
)
def test_an_unreachable_database_is_distinguished_from_a_failed_query(
    monkeypatch: pytest.MonkeyPatch, message: str, kind: type[Exception]
) -> None:
    monkeypatch.setattr(run, "existing_session", lambda given: Failing(message))

    with pytest.raises(kind) as failed:
        Database(jdbc=jdbc_config(URL)).read("SELECT 1")
    assert "hushhush" not in str(failed.value)


def test_tables_must_be_named_over_spark_connect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "existing_session", lambda given: Client())

    with pytest.raises(UsageError, match="before the run") as refused:
        sql_database(URL)
    assert "table_names" in refused.value.hint


def test_tables_are_reflected_once_per_run(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def facts_of(database: Any, schema: str, names: Any) -> dict[str, ReflectedTable]:
        asked.append(schema)
        return {"orders": ReflectedTable(name="orders", size=len(asked))}

    monkeypatch.setattr(table_reader, "reflect_tables", facts_of)
    catalog = DatabaseReflection(sql_options_of(URL), ("orders",))

    for size in (1, 2):
        # A run has who lends sessions.
        with override_context(lend_session=lambda conf: None):
            assert [catalog.table("orders").size for _ in range(3)] == [size] * 3
    assert len(asked) == 2


def test_an_iteration_has_one_session_for_each_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace, "open_reading_session", lambda needs, conf: object())

    @penstock.resource
    def looks() -> Iterator[dict[str, int]]:
        lent = [penstock.current.spark(conf) for conf in ({"a": "1"}, {"a": "1"}, {"a": "2"}, {}, {})]
        yield {"sessions": len(set(lent))}

    assert list(looks()) == [{"sessions": 3}]
