"""What drivers of databases say while rows are read, in the many lines in which Spark tells it."""

from __future__ import annotations

import pytest

from penstock.errors import DatabaseNotReachable, DatabaseQueryFailed
from penstock.spark.database_errors import as_database_error

JOB = (
    "An error occurred while calling o5307.parquet.\n"
    ": org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 9.0 failed once, "
    "most recent failure: Lost task 0.0 in stage 9.0 (TID 9) (host executor driver): "
)
STACK = "\n\tat org.apache.spark.sql.execution.datasources.jdbc.JdbcUtils$$anon$1.getNext(JdbcUtils.scala:1)"
CASES = {
    "ended": (
        "org.postgresql.util.PSQLException: FATAL: terminating connection due to administrator command",
        DatabaseNotReachable,
        "postgresql",
    ),
    "gone": (
        "org.postgresql.util.PSQLException: An I/O error occurred while sending to the backend.",
        DatabaseNotReachable,
        "postgresql",
    ),
    "standby": (
        "org.postgresql.util.PSQLException: ERROR: canceling statement due to conflict with recovery",
        DatabaseNotReachable,
        "postgresql",
    ),
    "division": (
        "org.postgresql.util.PSQLException: ERROR: division by zero",
        DatabaseQueryFailed,
        "postgresql",
    ),
    "zero": (
        "java.sql.SQLException: Zero date value prohibited\n\tat com.mysql.cj.jdbc.exceptions.SQLError",
        DatabaseQueryFailed,
        "mysql",
    ),
    "stream": (
        "java.sql.SQLException: (conn=4) Error while streaming resultSet data\n\tat org.mariadb.jdbc.A",
        DatabaseNotReachable,
        "mariadb",
    ),
    "killed": (
        "java.sql.SQLNonTransientConnectionException: Connection was killed\n\tat org.mariadb.A",
        DatabaseNotReachable,
        "mariadb",
    ),
    "shutdown": (
        "java.sql.SQLException: (conn=4) Server shutdown in progress\n\tat org.mariadb.jdbc.A",
        DatabaseNotReachable,
        "mariadb",
    ),
    "socket": (
        "java.sql.SQLNonTransientConnectionException: (conn=4) Socket error\n\tat org.mariadb.jdbc.A",
        DatabaseNotReachable,
        "mariadb",
    ),
    "closed": (
        "java.sql.SQLException: No operations allowed after connection closed.\n\tat com.mysql.cj.jdbc.A",
        DatabaseNotReachable,
        "mysql",
    ),
    "recovery": (
        "org.postgresql.util.PSQLException: FATAL: the database system is in recovery mode",
        DatabaseNotReachable,
        "postgresql",
    ),
    "too large": (
        "com.mysql.cj.jdbc.exceptions.MysqlDataTruncation: Data truncation: BIGINT is out of range",
        DatabaseQueryFailed,
        "mysql",
    ),
    "full": (
        "java.sql.SQLException: User 'a' has exceeded the 'max_user_connections' resource\n\tat com.mysql.A",
        DatabaseNotReachable,
        "mysql",
    ),
    "lost": (
        "java.sql.SQLException: (conn=4) Lost connection to server during query\n\tat org.mariadb.jdbc.A",
        DatabaseNotReachable,
        "mariadb",
    ),
    "cut": ("java.sql.DataTruncation: Data truncation\n\tat com.mysql.A", DatabaseQueryFailed, "mysql"),
    "a name": (
        'org.postgresql.util.PSQLException: ERROR: relation "socket errors" does not exist',
        DatabaseQueryFailed,
        "postgresql",
    ),
    "radio": (
        'org.postgresql.util.PSQLException: ERROR: invalid input syntax for type integer: "radio error"',
        DatabaseQueryFailed,
        "postgresql",
    ),
}


@pytest.mark.parametrize(("said", "kind", "database"), CASES.values(), ids=CASES.keys())
def test_the_message_of_a_driver_is_reported_without_the_spark_error(
    said: str, kind: type[Exception], database: str
) -> None:
    found = as_database_error(RuntimeError(f"{JOB}{said}{STACK}\nCaused by: {said}{STACK}"))

    assert isinstance(found, kind)
    assert vars(found) | {"database": database, "reason": said.partition("\n")[0]} == vars(found)


@pytest.mark.parametrize(
    "said",
    [
        "java.lang.ArithmeticException: / by zero",
        "java.sql.SQLException: somebody else's\n\tat org.apache.derby.A",
        "java.lang.RuntimeException: at org.postgresql.util.A nothing was said",
        "org.apache.spark.SparkException: no space left on device",
    ],
)
def test_other_failures_are_left_as_they_are(said: str) -> None:
    assert as_database_error(RuntimeError(f"{JOB}{said}{STACK}")) is None


def test_the_caller_can_name_the_database() -> None:
    found = as_database_error(
        RuntimeError("java.sql.SQLException: no\n\tat org.apache.derby.A"), database="derby"
    )

    assert found is not None
    assert found.database == "derby"


def test_the_message_of_a_driver_is_shown_without_secrets() -> None:
    said = "org.postgresql.util.PSQLException: no access to postgresql://ada:hushhush@db/shop"

    found = as_database_error(RuntimeError(JOB + said))

    assert found is not None
    assert "hushhush" not in str(found)
