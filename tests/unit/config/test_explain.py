from __future__ import annotations

import pytest

from penstock.config import (
    BaseConfiguration,
    ConnectionStringCredentials,
    Settings,
    TSecretStrValue,
    config_value,
    configspec,
    explain,
    in_scope,
    secrets_value,
    with_config,
)


@configspec
class Api(BaseConfiguration):
    url: str
    token: TSecretStrValue
    pages: int = 10


@configspec
class Database(BaseConfiguration):
    credentials: ConnectionStringCredentials
    schema_name: str = "public"


def test_every_place_is_shown_and_the_used_one_is_marked() -> None:
    settings = Settings(environment={"SOURCES__PAGES": "3"}, document={"sources": {"hub": {"pages": 7}}})

    found = explain("sources.hub.pages", settings=settings, pipeline_name="shop")["pages"]

    assert (found.text, str(found.location)) == ("'3'", "environment: SOURCES__PAGES")
    assert [str(look) for look in found.locations if look.has_value] == [
        "> environment: SOURCES__PAGES",
        "  config.toml: sources.hub.pages (set, but an earlier place wins)",
    ]
    assert len(found.locations) == 18


def test_a_spec_is_explained_field_by_field() -> None:
    settings = Settings(environment={"TOKEN": "hunter2", "SOURCES__URL": "https://example.com"})

    text = str(explain(Api, settings=settings, sections=("sources",)))

    assert text.splitlines()[0] == "url = 'https://example.com' (environment: SOURCES__URL)"
    assert "token = *** (environment: TOKEN)" in text
    assert "pages = 10 (default)" in text
    assert "hunter2" not in text


def test_a_missing_value_is_called_so_and_nothing_is_raised() -> None:
    found = explain(Api, settings=Settings(), sections=("sources",))

    assert (found["url"].origin, found["url"].text) == ("missing", None)
    assert [str(look.location) for look in found["token"].locations] == [
        "environment: SOURCES__TOKEN",
        "environment: TOKEN",
        "secrets.toml: sources.token",
        "secrets.toml: token",
    ]


def test_a_secret_in_the_wrong_file_is_pointed_at() -> None:
    text = str(explain(Api, settings=Settings(document={"token": "hunter2"})))

    assert "config.toml: token (a secret where secrets must not be)" in text
    assert "hunter2" not in text


def test_credentials_as_one_text_are_parsed() -> None:
    settings = Settings(
        environment={"CREDENTIALS": "pg://ada:hunter2@db/shop", "CREDENTIALS__HOST": "unused"}
    )

    found = explain(Database, settings=settings, sections=("destination",))

    assert found["credentials"].text == "***"
    assert found["credentials.username"].text == "'ada'"
    assert found["credentials.password"].text == "***"
    assert str(found["credentials.host"].location) == "environment: CREDENTIALS"
    assert "hunter2" not in str(found)


def test_credentials_by_field_are_explained_by_field() -> None:
    settings = Settings(secrets={"credentials": {"drivername": "pg", "password": "hunter2"}})

    found = explain(Database, settings=settings)

    assert found["credentials"].origin == "not given as one value"
    assert found["credentials.drivername"].text == "***", "all of a file for secrets is one"
    assert found["schema_name"].text == "'public'"
    assert "hunter2" not in str(found)


def test_an_unreadable_credentials_text_is_explained() -> None:
    found = explain(Database, settings=Settings(environment={"CREDENTIALS": "hunter2"}))

    assert found["credentials"].origin == "not a value for ConnectionStringCredentials"
    assert "hunter2" not in str(found)


def test_arguments_of_a_function_are_explained() -> None:
    def source(org: str = config_value, token: str = secrets_value, pages: int = 10) -> None: ...

    settings = Settings(environment={"SHOP__SOURCES__ORG": "us"})
    with in_scope(pipeline_name="shop", sections=("sources", "hub")):
        bare = explain(source, settings=settings)
        wrapped = explain(with_config(source), settings=settings)

    assert bare == wrapped
    assert str(bare["org"].location) == "environment: SHOP__SOURCES__ORG"
    assert (bare["token"].origin, bare["pages"].origin) == ("missing", "default")


@pytest.mark.parametrize("key", ["api_key", "password", "connection_string"])
def test_a_path_with_the_name_of_a_secret_is_masked(key: str) -> None:
    settings = Settings(environment={key.upper(): "hunter2"}, document={"other": "shown"})

    assert explain(f"sources.{key}", settings=settings)[key].text == "***"
    assert explain("other", settings=settings)["other"].text == "'shown'"


def test_an_unknown_field_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        explain("a", settings=Settings())["b"]
