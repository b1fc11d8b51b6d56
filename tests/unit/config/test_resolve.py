from __future__ import annotations

from typing import Any

import pytest
from pydantic import Field

from penstock.config import (
    BaseConfiguration,
    CredentialsConfiguration,
    Settings,
    TSecretStrValue,
    configspec,
    resolve_configuration,
)
from penstock.errors import ConfigFieldMissing, ConfigValueCannotBeCoerced, ValueNotSecret

HUB = ("sources", "hub", "github")


@configspec
class Api(BaseConfiguration):
    url: str = None  # type: ignore[assignment]
    pages: int = 10
    verify: bool = True
    tags: list[str] = Field(default_factory=list)
    headers: dict[str, str] | None = None


@configspec
class Login(CredentialsConfiguration):
    user: str = None  # type: ignore[assignment]
    password: TSecretStrValue = None  # type: ignore[assignment]

    def parse_native_representation(self, native_value: Any) -> None:
        self.user, self.password = native_value.split(":")


@configspec
class Base(BaseConfiguration):
    credentials: Login
    spare: Login | None = None


def test_the_call_beats_providers_and_providers_beat_defaults() -> None:
    settings = Settings(environment={"PAGES": "3", "URL": "environment"}, document={"verify": False})

    found = resolve_configuration(Api, settings=settings, sections=HUB, explicit={"url": "call"})

    assert found == Api(url="call", pages=3, verify=False)


def test_none_in_the_call_is_nothing_said() -> None:
    found = resolve_configuration(Api, settings=Settings(environment={"URL": "x"}), explicit={"url": None})

    assert found.url == "x"


def test_lists_and_objects_are_json_text_in_the_environment() -> None:
    settings = Settings(environment={"URL": "x", "TAGS": '["a", "b"]', "HEADERS": '{"a": "1"}'})

    found = resolve_configuration(Api, settings=settings)

    assert (found.tags, found.headers) == (["a", "b"], {"a": "1"})


def test_one_error_names_all_missing_fields_and_every_place() -> None:
    with pytest.raises(ConfigFieldMissing) as caught:
        resolve_configuration(Base, settings=Settings(), sections=("destination",), pipeline_name="shop")

    assert list(caught.value.fields) == ["credentials", "credentials.user", "credentials.password"]
    assert caught.value.fields["credentials"][:3] == (
        "environment: SHOP__DESTINATION__CREDENTIALS",
        "environment: SHOP__CREDENTIALS",
        "secrets.toml: shop.destination.credentials",
    )
    assert caught.value.fields["credentials.user"] == (
        "environment: SHOP__DESTINATION__CREDENTIALS__USER",
        "environment: SHOP__CREDENTIALS__USER",
        "secrets.toml: shop.destination.credentials.user",
        "secrets.toml: shop.credentials.user",
        "config.toml: shop.destination.credentials.user",
        "config.toml: shop.credentials.user",
        "environment: DESTINATION__CREDENTIALS__USER",
        "environment: CREDENTIALS__USER",
        "secrets.toml: destination.credentials.user",
        "secrets.toml: credentials.user",
        "config.toml: destination.credentials.user",
        "config.toml: credentials.user",
    )
    assert not any("config.toml" in place for place in caught.value.fields["credentials.password"])


def test_a_text_that_is_no_number_is_named_without_being_shown() -> None:
    with pytest.raises(ConfigValueCannotBeCoerced) as caught:
        resolve_configuration(Api, settings=Settings(environment={"URL": "x", "PAGES": "hunter2"}))

    assert (caught.value.field, caught.value.place) == ("pages", "environment: PAGES")
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    "settings",
    [
        Settings(environment={"DESTINATION__CREDENTIALS": "ada:hunter2"}),
        Settings(environment={"CREDENTIALS": '{"user": "ada", "password": "hunter2"}'}),
        Settings(secrets={"destination": {"credentials": {"user": "ada", "password": "hunter2"}}}),
        Settings(environment={"CREDENTIALS__USER": "ada"}, secrets={"credentials": {"password": "hunter2"}}),
    ],
)
def test_credentials_come_by_field_as_an_object_or_as_one_text(settings: Settings) -> None:
    found = resolve_configuration(Base, settings=settings, sections=("destination",))

    assert found.credentials.user == "ada"
    assert found.credentials.password == "hunter2"
    assert found.spare is None


def test_a_secret_in_a_file_that_is_not_for_secrets_is_refused() -> None:
    with pytest.raises(ValueNotSecret, match=r"config\.toml: credentials\.password"):
        resolve_configuration(
            Base, settings=Settings(document={"credentials": {"user": "ada", "password": "hunter2"}})
        )


def test_secrets_of_a_spec_do_not_show() -> None:
    login = Login(user="ada", password="hunter2")

    shown = f"{login} {login!r} {[login]} {login.model_dump_json()} {Base(credentials=login)!r}"

    assert "hunter2" not in shown
    assert "ada" in shown
    assert login.password == "hunter2"


def test_an_unknown_field_in_the_call_is_refused() -> None:
    with pytest.raises(ConfigValueCannotBeCoerced, match="no such field"):
        resolve_configuration(Api, settings=Settings(), explicit={"ulr": "x"})


def test_a_plain_class_becomes_a_spec_with_and_without_brackets() -> None:
    @configspec(init=True)
    class Plain:
        pages: int = 1

        def twice(self) -> int:
            return 2 * self.pages

    spec: Any = Plain
    found = resolve_configuration(spec, settings=Settings(environment={"PAGES": "4"}))

    assert issubclass(spec, BaseConfiguration)
    assert found.twice() == 8
