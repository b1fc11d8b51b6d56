"""Logins to Postgres: URLs, fields, TLS, and texts without secrets."""

from __future__ import annotations

import pytest

from penstock.destinations.postgres.copy_task import with_authorities
from penstock.destinations.postgres.jdbc import jdbc_options
from penstock.destinations.postgres.settings import PostgresConfiguration, PostgresCredentials


def test_a_url_becomes_parameters_of_libpq() -> None:
    login = PostgresCredentials(
        "postgresql://ada:p%40ss@localhost/shop?connect_timeout=3&target_session_attrs=any"
    )

    assert login.parameters() == {
        "host": "localhost",
        "port": "5432",
        "dbname": "shop",
        "user": "ada",
        "password": "p@ss",
        "connect_timeout": "3",
        "target_session_attrs": "any",
        "application_name": "penstock-writer",
        "client_encoding": "UTF8",
    }


@pytest.mark.parametrize(
    ("url", "mode", "is_verified"),
    [
        ("postgresql://db.example.org/shop", "verify-full", True),
        ("postgresql://db.example.org/shop?sslmode=verify-ca", "verify-ca", True),
        ("postgresql://db.example.org/shop?sslmode=require", "require", False),
        ("postgresql://127.0.0.1/shop", None, True),
        ("postgresql://[::1]:5433/shop", None, True),
    ],
)
def test_a_server_on_another_machine_is_verified_unless_the_mode_is_set(
    url: str, mode: str | None, *, is_verified: bool
) -> None:
    login = PostgresCredentials(url)

    assert (login.parameters().get("sslmode"), login.is_verified) == (mode, is_verified)


def test_the_authorities_of_the_system_verify_unless_others_are_set() -> None:
    remote = PostgresCredentials("postgresql://db.example.org/shop").parameters()
    other = PostgresCredentials("postgresql://db.example.org/shop?sslrootcert=/ca.pem").parameters()
    local = PostgresCredentials("postgresql://localhost/shop").parameters()

    assert with_authorities(remote)["sslrootcert"]
    assert with_authorities(other)["sslrootcert"] == "/ca.pem"
    assert "sslrootcert" not in with_authorities(local)


def test_another_database_is_refused() -> None:
    with pytest.raises(ValueError, match="expected postgresql://, not mysql://"):
        PostgresCredentials("mysql://db/shop")


def test_texts_of_the_settings_have_no_secret() -> None:
    config = PostgresConfiguration(
        credentials=PostgresCredentials("postgresql://ada:hunter22@db/shop?sslpassword=hunter23")
    )

    text = f"{config!s} {config!r} {config.model_dump_json()} {config.fingerprint()}"

    assert str(config) == "postgresql://db:5432/shop"
    assert "hunter2" not in text


def test_a_quoted_database_name_of_a_url_is_unquoted() -> None:
    login = PostgresCredentials("postgresql://ada:p%40ss@localhost/my%20shop")

    assert login.parameters()["dbname"] == "my shop"
    assert jdbc_options(login, {})["url"] == "jdbc:postgresql://localhost:5432/my%20shop"
