"""The options of Spark's JDBC driver are those of psycopg, without secrets in the URL."""

from __future__ import annotations

import pytest

from penstock.destinations.postgres.jdbc import as_jdbc_error, jdbc_options
from penstock.destinations.postgres.settings import PostgresCredentials
from penstock.errors import (
    DatabaseQueryFailed,
    DestinationTransientException,
    JdbcDriverMissing,
    UsageError,
)
from penstock.spark.presets import MASKING_CONF, masks_options

REMOTE = "postgresql://ada:p%40ss@db.example.org/shop"


def options(url: str, **settings: str) -> dict[str, str]:
    return jdbc_options(PostgresCredentials(url), settings)


def test_the_login_is_in_options_and_not_in_the_url() -> None:
    given = options(REMOTE)

    assert given["url"] == "jdbc:postgresql://db.example.org:5432/shop"
    assert (given["user"], given["password"]) == ("ada", "p@ss")
    assert given["logServerErrorDetail"] == "false"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", {"sslmode": "verify-full", "sslfactory": "org.postgresql.ssl.DefaultJavaSSLFactory"}),
        (
            "?sslrootcert=system",
            {"sslmode": "verify-full", "sslfactory": "org.postgresql.ssl.DefaultJavaSSLFactory"},
        ),
        ("?sslrootcert=/ca.pem", {"sslmode": "verify-full", "sslrootcert": "/ca.pem"}),
        ("?sslmode=verify-ca&sslrootcert=/ca.pem", {"sslmode": "verify-ca", "sslrootcert": "/ca.pem"}),
        (
            "?sslmode=require&sslcert=/c.pem&sslkey=/k.pk8",
            {"sslmode": "require", "sslcert": "/c.pem", "sslkey": "/k.pk8"},
        ),
    ],
)
def test_tls_is_that_of_the_driver(query: str, expected: dict[str, str]) -> None:
    given = options(f"{REMOTE}{query}")

    assert {name: value for name, value in given.items() if name.startswith("ssl")} == expected


def test_limits_of_statements_are_set_when_a_connection_starts() -> None:
    given = options(
        f"{REMOTE}?options=-c%20search_path%3Dx&target_session_attrs=read-write&connect_timeout=3",
        TimeZone="UTC",
        statement_timeout="5000",
        lock_timeout="100",
    )

    assert given["options"] == "-c search_path=x -c statement_timeout=5000 -c lock_timeout=100"
    assert (given["targetServerType"], given["connectTimeout"]) == ("primary", "3")


def test_several_hosts_and_addresses_of_ipv6_are_kept() -> None:
    hosts = PostgresCredentials(host="::1,db2", database="shop")

    assert jdbc_options(hosts, {})["url"] == "jdbc:postgresql://[::1]:5432,db2:5432/shop"


def test_a_socket_is_refused_because_java_cannot_connect_to_it() -> None:
    with pytest.raises(UsageError, match="by the socket /run/postgresql"):
        jdbc_options(PostgresCredentials(host="/run/postgresql", database="shop"), {})


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("java.lang.ClassNotFoundException: org.postgresql.Driver", JdbcDriverMissing),
        (
            "org.postgresql.util.PSQLException: ERROR: canceling statement due to statement timeout",
            DestinationTransientException,
        ),
        (
            'org.postgresql.util.PSQLException: FATAL: role "x" is not permitted to log in',
            DatabaseQueryFailed,
        ),
        ("java.lang.OutOfMemoryError", type(None)),
    ],
)
def test_errors_of_the_driver_are_those_of_penstock(text: str, error: type) -> None:
    assert type(as_jdbc_error(RuntimeError(text))) is error


@pytest.mark.parametrize(
    ("pattern", "is_masked"),
    [
        (next(iter(MASKING_CONF.values())), True),
        ("(?s).+", True),
        ("token", False),
        ("*", False),
        ("", False),
    ],
)
def test_a_session_masks_options_if_its_pattern_matches_them(pattern: str, *, is_masked: bool) -> None:
    assert masks_options(pattern) == is_masked
