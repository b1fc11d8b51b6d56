from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.config import (
    AwsCredentials,
    BaseConfiguration,
    ConnectionStringCredentials,
    Settings,
    configspec,
    resolve_configuration,
)
from penstock.errors import ConfigValueCannotBeCoerced

parts = st.text(
    alphabet=st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12
)
# A secret that one test makes known is known to all that follow: these are in no other text.
hushed = parts.map(lambda text: f"~7{text}")


@configspec
class Holder(BaseConfiguration):
    credentials: ConnectionStringCredentials


@given(
    username=parts,
    password=hushed,
    port=st.none() | st.integers(1, 65535),
    query=st.dictionaries(parts, hushed),
)
def test_a_url_reads_back_as_it_was_written(
    username: str, password: str, port: int | None, query: dict[str, str]
) -> None:
    before = ConnectionStringCredentials(
        drivername="postgresql",
        username=username,
        password=password,
        host="db.example.com",
        port=port,
        database="shop",
        query=query,
    )

    assert ConnectionStringCredentials(before.to_url()) == before
    assert before.to_native_credentials() == before.to_url()


def test_the_password_is_in_the_url_and_masked_in_printed_output() -> None:
    shop = ConnectionStringCredentials("pg://ada:hunter2@db:5432/shop?sslmode=require&password=hunter3")

    assert shop.to_url() == "pg://ada:hunter2@db:5432/shop?sslmode=require&password=hunter3"
    assert repr(shop.to_url()) == "***"
    assert str(shop) == "pg://ada:***@db:5432/shop"
    assert "hunter" not in repr(shop)


def test_an_unquoted_password_is_parsed_completely() -> None:
    shop = ConnectionStringCredentials("mysql://ada:p@ss/w:rd@db/x")

    assert (shop.password, shop.host, shop.database) == ("p@ss/w:rd", "db", "x")


@pytest.mark.parametrize("password", ["1234?x", "x@?", "12?a=b"])
def test_a_question_mark_in_a_password_must_be_quoted(password: str) -> None:
    with pytest.raises(ValueError, match="%3F"):
        ConnectionStringCredentials(f"pg://ada:{password}@db/shop")


def test_a_query_may_hold_an_at_sign() -> None:
    shop = ConnectionStringCredentials("pg://ada:x@db/shop?mail=a@b")

    assert (shop.host, shop.query) == ("db", {"mail": "a@b"})


def test_a_url_object_of_sqlalchemy_is_taken() -> None:
    class Url:
        def render_as_string(self, *, hide_password: bool) -> str:
            return f"pg://ada:{'***' if hide_password else 'x'}@db/shop"

    assert ConnectionStringCredentials(Url()).password == "x"


@pytest.mark.parametrize("wrong", ["db", "pg:/x", "pg://db:port/x", 5])
def test_an_invalid_url_is_an_error(wrong: object) -> None:
    with pytest.raises(ValueError, match="expected the form"):
        ConnectionStringCredentials(wrong)


def test_fields_and_one_text_can_be_combined_in_the_call_and_in_providers() -> None:
    told = Settings(environment={"CREDENTIALS__PORT": "5432", "CREDENTIALS__HOST": "unused"})

    found = resolve_configuration(Holder, settings=told, explicit={"credentials": "pg://ada:x@db/shop"})

    assert (found.credentials.host, found.credentials.port) == ("db", 5432)
    assert ConnectionStringCredentials("pg://ada@db", host="other").host == "other"


def test_without_a_drivername_credentials_are_not_complete() -> None:
    with pytest.raises(KeyError, match=r"credentials\.drivername"):
        resolve_configuration(Holder, settings=Settings(environment={"CREDENTIALS__HOST": "db"}))


def test_aws_keys_must_be_set_together() -> None:
    def resolved(environment: dict[str, str]) -> AwsCredentials:
        return resolve_configuration(AwsCredentials, settings=Settings(environment=environment))

    keys = {"CREDENTIALS__AWS_ACCESS_KEY_ID": "id", "CREDENTIALS__AWS_SECRET_ACCESS_KEY": "hush"}
    assert resolved({}).to_session_credentials() == dict.fromkeys(
        ("aws_access_key_id", "aws_secret_access_key", "aws_session_token")
    )
    assert resolved(keys).to_native_representation() == {
        "aws_access_key_id": "id",
        "aws_secret_access_key": "hush",
    }
    with pytest.raises(ConfigValueCannotBeCoerced, match="must be set together"):
        resolved({"CREDENTIALS__AWS_ACCESS_KEY_ID": "id"})
