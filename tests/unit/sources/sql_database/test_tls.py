"""Connections verify the server, and properties that load code are rejected."""

from __future__ import annotations

import logging

import pytest

from penstock.errors import DatabaseQueryFailed, UsageError
from penstock.sources.sql_database.jdbc import jdbc_config
from penstock.spark.database_errors import as_database_error

VERIFIED = {
    "postgresql://ada@db.example.org/shop": ("sslmode", "verify-full"),
    "jdbc:postgresql://db1.example.org:5432,localhost:5433/shop": ("sslmode", "verify-full"),
    "mysql://ada@db.example.org/shop": ("sslMode", "VERIFY_IDENTITY"),
    "jdbc:mysql://10.0.0.7:3306/shop": ("sslMode", "VERIFY_IDENTITY"),
    "mariadb://ada@db.example.org/shop": ("sslMode", "verify-full"),
    "postgresql://ada@localhost.example.org/shop": ("sslmode", "verify-full"),
}


@pytest.mark.parametrize("url", VERIFIED)
def test_a_remote_server_is_verified_unless_the_url_decides(url: str) -> None:
    name, value = VERIFIED[url]

    assert jdbc_config(url).properties[name] == value


def test_postgres_is_verified_by_the_trust_store_of_java_or_a_file() -> None:
    url = "postgresql://ada@db.example.org/shop"
    by_java = jdbc_config(url).properties
    by_file = jdbc_config(f"{url}?sslrootcert=/etc/ca.pem").properties

    assert by_java["sslfactory"] == "org.postgresql.ssl.DefaultJavaSSLFactory"
    assert "sslfactory" not in by_file
    assert (by_file["sslmode"], by_file["sslrootcert"]) == ("verify-full", "/etc/ca.pem")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ada@localhost/shop",
        "postgresql://ada@127.0.0.1/shop",
        "postgresql://ada@127.1.2.3/shop",
        "postgresql://ada@[::1]/shop",
        "jdbc:postgresql:shop",
        "jdbc:postgresql://localhost:5432,127.0.0.1:5433/shop",
        "mysql://ada@localhost/shop",
        "mariadb://ada@127.0.0.1/shop",
        "jdbc:h2:mem:shop",
        "mssql://ada@db.example.org/shop",
    ],
)
def test_local_servers_and_other_drivers_are_unchanged(url: str) -> None:
    named = {name.lower() for name in jdbc_config(url).properties}

    assert not named & {"sslmode", "sslfactory"}


@pytest.mark.parametrize(
    ("url", "more"),
    [
        ("postgresql://ada@db.example.org/shop?sslmode=disable", {}),
        ("jdbc:postgresql://db.example.org/shop?sslmode=require", {}),
        ("postgresql://ada@db.example.org/shop", {"sslmode": "disable"}),
        ("mysql://ada@db.example.org/shop?sslMode=DISABLED", {}),
        ("jdbc:mysql://db.example.org/shop?useSSL=false", {}),
        ("mariadb://ada@db.example.org/shop?sslMode=trust", {}),
    ],
)
def test_a_weaker_setting_of_the_user_is_kept_and_logged(
    url: str, more: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger="penstock"):
        place = jdbc_config(url, properties=more)

    assert "verify" not in str(place.properties).lower()
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == [
        "the connection to the database does not verify the server"
    ]


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ada@db.example.org/shop?sslmode=verify-full&sslrootcert=/etc/ca.pem",
        "jdbc:mysql://db.example.org/shop?sslMode=VERIFY_CA",
        "postgresql://ada@localhost/shop?sslmode=disable",
    ],
)
def test_a_verifying_setting_is_not_logged(url: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="penstock"):
        jdbc_config(url)

    assert not caplog.records


@pytest.mark.parametrize(
    "property_name",
    [
        "socketFactory=evil.Factory",
        "sslfactory=org.postgresql.ssl.NonValidatingFactory",
        "authenticationPluginClassName=evil.Plugin",
        "loggerFile=/etc/passwd",
        "preferQueryMode=simple",
        "autoDeserialize=true",
        "allowLoadLocalInfile=true",
        "QUERYINTERCEPTORS=evil.Interceptor",
    ],
)
@pytest.mark.parametrize(
    "url",
    ["postgresql://ada@localhost/shop?{}", "jdbc:mysql://db/shop?{}", "jdbc:postgresql://db/shop?a=b&{}"],
)
def test_properties_that_load_code_or_open_files_are_rejected(url: str, property_name: str) -> None:
    name, _, value = property_name.partition("=")

    with pytest.raises(UsageError, match=name):
        jdbc_config(url.format(property_name))
    with pytest.raises(UsageError, match=name):
        jdbc_config(url.format("x=y"), properties={name: value})


@pytest.mark.parametrize(
    "text",
    [
        "org.postgresql.util.PSQLException: The server does not support SSL.",
        "java.sql.SQLNonTransientConnectionException: SSL Connection required, but not supported by server.",
        (
            "com.mysql.cj.jdbc.exceptions.CommunicationsException: Communications link failure\n"
            "Caused by: javax.net.ssl.SSLHandshakeException: PKIX path building failed: unable to find path"
        ),
    ],
)
def test_a_server_without_tls_is_reported_with_the_option_to_set(text: str) -> None:
    error = as_database_error(RuntimeError(text), database="postgresql")

    assert isinstance(error, DatabaseQueryFailed)
    assert "sslmode=disable" in error.hint
    assert "sslMode=DISABLED" in error.hint
    assert "sslrootcert" in error.hint
