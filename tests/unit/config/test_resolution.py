from __future__ import annotations

from datetime import datetime  # noqa: TC003 - pydantic reads it
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field, ValidationError, model_validator

from penstock.config import (
    BaseConfiguration,
    CredentialsConfiguration,
    CustomLoaderDocProvider,
    NotResolved,
    Settings,
    TSecretStrValue,
    configspec,
    resolve_configuration,
)
from penstock.errors import (
    ConfigFieldMissing,
    ConfigProviderFailed,
    ConfigValueCannotBeCoerced,
    ValueNotSecret,
)

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


def test_none_in_the_call_is_unset() -> None:
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


def test_an_invalid_number_is_reported_without_its_value() -> None:
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
def test_credentials_are_set_by_field_as_an_object_or_as_one_text(settings: Settings) -> None:
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
    with pytest.raises(ConfigValueCannotBeCoerced, match="unknown field"):
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


@configspec
class Key(CredentialsConfiguration):
    token: TSecretStrValue = None  # type: ignore[assignment]


@configspec
class Either(BaseConfiguration):
    credentials: Login | Key


def credentials_of(spec: type[Any], **told: Any) -> Any:
    return resolve_configuration(spec, settings=Settings(**told)).credentials


@pytest.mark.parametrize(
    ("told", "kind"),
    [
        ({"environment": {"CREDENTIALS__USER": "ada", "CREDENTIALS__PASSWORD": "x"}}, Login),
        ({"environment": {"CREDENTIALS__TOKEN": "t"}}, Key),
        ({"environment": {"CREDENTIALS": "ada:x"}}, Login),
        ({"environment": {"CREDENTIALS": '{"token": "t"}'}}, Key),
        ({"environment": {"CREDENTIALS__USER": "ada", "CREDENTIALS__TOKEN": "t"}}, Key),
    ],
)
def test_of_several_specs_the_first_that_can_be_filled_is_taken(told: dict[str, Any], kind: type) -> None:
    assert type(credentials_of(Either, **told)) is kind


def test_if_no_spec_of_a_union_can_be_filled_all_their_fields_are_listed() -> None:
    with pytest.raises(ConfigFieldMissing) as caught:
        credentials_of(Either)

    assert list(caught.value.fields) == [
        "credentials",
        "credentials.user (Login)",
        "credentials.password (Login)",
        "credentials.token (Key)",
    ]


def test_an_unreadable_native_value_is_an_error_without_the_value() -> None:
    with pytest.raises(ConfigValueCannotBeCoerced) as caught:
        credentials_of(Base, environment={"CREDENTIALS": "hunter2"})

    assert caught.value.place == "environment: CREDENTIALS"
    assert "hunter2" not in str(caught.value)


def test_the_message_of_a_parser_shows_no_piece_of_its_text() -> None:
    @configspec
    class Chatty(CredentialsConfiguration):
        port: int = None  # type: ignore[assignment]

        def parse_native_representation(self, native_value: Any) -> None:
            self.port = int(native_value.split(":")[1])

    with pytest.raises(ConfigValueCannotBeCoerced) as caught:
        resolve_configuration(Chatty, settings=Settings(), explicit="ada:lovelace")  # type: ignore[arg-type]

    assert "lovelace" not in str(caught.value)
    assert "invalid literal" in str(caught.value)


def test_one_text_wins_over_single_fields() -> None:
    told = {"CREDENTIALS": "ada:x", "CREDENTIALS__PASSWORD": "y"}

    assert credentials_of(Base, environment=told).password == "x"


def test_a_section_ends_the_search_for_one_text() -> None:
    login = credentials_of(
        Base, secrets={"credentials": {"user": "ada", "password": "x"}}, document={"credentials": "eve:y"}
    )

    assert (login.user, login.password) == ("ada", "x")


def test_public_fields_of_credentials_may_be_in_the_config_file() -> None:
    login = credentials_of(
        Base,
        environment={"CREDENTIALS__PASSWORD": "x"},
        document={"credentials": {"user": "ada"}},
    )

    assert login.user == "ada"


def test_credentials_as_one_text_in_the_config_file_are_an_error() -> None:
    with pytest.raises(ValueNotSecret, match=r"config\.toml: credentials"):
        credentials_of(Base, document={"credentials": "ada:x"})


def test_a_misplaced_secret_is_ignored_if_an_earlier_place_has_it() -> None:
    login = credentials_of(
        Base,
        secrets={"credentials": {"user": "ada", "password": "s3cret-of-mine"}},
        document={"credentials": {"password": "s3cret-elsewhere"}},
    )

    assert login.password == "s3cret-of-mine"


def test_credentials_in_the_call_are_completed_by_providers() -> None:
    told = Settings(environment={"CREDENTIALS__PASSWORD": "x", "CREDENTIALS__USER": "eve"})

    for given in ({"user": "ada"}, Login(user="ada")):
        found = resolve_configuration(Base, settings=told, explicit={"credentials": given})
        assert (found.credentials.user, found.credentials.password) == ("ada", "x")


def test_values_of_an_instance_are_defaults() -> None:
    told = Settings(environment={"PAGES": "3"})

    found = resolve_configuration(Api(url="mine", pages=7, verify=False), settings=told)

    assert found == Api(url="mine", pages=3, verify=False)


def test_an_instance_as_the_default_of_a_field_is_completed_and_overridden() -> None:
    @configspec
    class Holder(BaseConfiguration):
        credentials: Login = Login(user="ada")

    told = {"CREDENTIALS__PASSWORD": "x"}

    assert credentials_of(Holder, environment=told).user == "ada"
    assert credentials_of(Holder, environment={**told, "CREDENTIALS__USER": "eve"}).user == "eve"


def test_incomplete_optional_credentials_are_none() -> None:
    found = resolve_configuration(
        Base,
        settings=Settings(environment={"CREDENTIALS": "ada:x", "SPARE__USER": "eve"}),
    )

    assert found.spare is None


def test_an_optional_spec_without_required_fields_is_created() -> None:
    @configspec
    class Csv(BaseConfiguration):
        delimiter: str = ","

    @configspec
    class Holder(BaseConfiguration):
        csv: Csv | None = None

    assert resolve_configuration(Holder, settings=Settings()).csv == Csv()


def test_a_field_marked_not_resolved_is_not_looked_up() -> None:
    @configspec
    class Bound(BaseConfiguration):
        dataset_name: Annotated[str, NotResolved()] = "mine"
        kind: Annotated[str, NotResolved()]

    told = Settings(environment={"DATASET_NAME": "theirs", "KIND": "theirs"})

    assert resolve_configuration(Bound, settings=told, explicit={"kind": "k"}).dataset_name == "mine"
    with pytest.raises(ConfigFieldMissing) as caught:
        resolve_configuration(Bound, settings=told)
    assert caught.value.fields == {"kind": ()}


def test_a_spec_completes_itself_when_all_is_found() -> None:
    @configspec
    class Finished(BaseConfiguration):
        name: str
        label: str | None = None

        def on_resolved(self) -> None:
            self.label = self.label or self.name.upper()

    found = resolve_configuration(Finished, settings=Settings(environment={"NAME": "x"}))

    assert found.label == "X"


def test_a_section_of_its_own_needs_no_annotation() -> None:
    @configspec
    class Sectioned(BaseConfiguration):
        __section__ = "mine"
        name: str = "-"

    told = Settings(environment={"NAME": "bare", "MINE__NAME": "here"})

    assert resolve_configuration(Sectioned, settings=told).name == "here"


def test_a_section_is_a_valid_object_but_not_a_text() -> None:
    @configspec
    class Mixed(BaseConfiguration):
        name: str = "-"
        headers: dict[str, str] | None = None
        extra: Any = None

    table = {"a": "1"}
    found = resolve_configuration(
        Mixed, settings=Settings(document={"name": table, "headers": table, "extra": table})
    )

    assert (found.name, found.headers, found.extra) == ("-", table, table)


def test_types_are_those_of_annotations() -> None:
    @configspec
    class Typed(BaseConfiguration):
        mode: Literal["fast", "slow"] = "slow"
        since: datetime | None = None
        ids: set[int] = Field(default_factory=set)

    told = Settings(environment={"MODE": "fast", "SINCE": "2024-05-01T00:00:00Z", "IDS": "[1, 2, 2]"})

    found = resolve_configuration(Typed, settings=told)

    assert (found.mode, found.ids) == ("fast", {1, 2})
    assert found.since is not None
    assert found.since.isoformat() == "2024-05-01T00:00:00+00:00"


def test_an_error_of_a_spec_validator_is_reported_without_values() -> None:
    @configspec
    class Checked(BaseConfiguration):
        low: int = 0
        high: int = 0

        @model_validator(mode="after")
        def _order(self) -> Any:
            if self.low > self.high:
                raise ValueError("low is above high")
            return self

    with pytest.raises(ConfigValueCannotBeCoerced, match="low is above high"):
        resolve_configuration(Checked, settings=Settings(environment={"LOW": "5"}))


def test_a_provider_that_fails_is_not_passed_over() -> None:
    def broken() -> dict[str, Any]:
        raise ConnectionError("no vault at https://vault.example.com")

    settings = Settings(extra_providers=(CustomLoaderDocProvider("vault", broken),))

    with pytest.raises(ConfigProviderFailed, match="vault failed: ConnectionError") as caught:
        resolve_configuration(Api, settings=settings)

    assert isinstance(caught.value.__cause__, ConnectionError)


def test_a_provider_for_secrets_may_hold_them_and_others_may_not() -> None:
    tree = {"credentials": {"user": "ada", "password": "x"}}
    vault = CustomLoaderDocProvider("vault", lambda: tree)
    wiki = CustomLoaderDocProvider("wiki", lambda: tree, supports_secrets=False)

    assert credentials_of(Base, extra_providers=(vault,)).password == "x"
    with pytest.raises(ValueNotSecret, match=r"wiki: credentials\.password"):
        credentials_of(Base, extra_providers=(wiki,))


def test_a_missing_value_is_a_key_error_too() -> None:
    with pytest.raises(KeyError):
        resolve_configuration(Api, settings=Settings())


def test_places_of_one_provider_are_in_one_line_of_the_message() -> None:
    with pytest.raises(ConfigFieldMissing) as caught:
        resolve_configuration(Api, settings=Settings(), sections=("sources", "hub"))

    assert caught.value.message.splitlines() == [
        "Api has no value for url",
        "  searched for url in:",
        "    environment: SOURCES__HUB__URL, SOURCES__URL, URL",
        "    secrets.toml: sources.hub.url, sources.url, url",
        "    config.toml: sources.hub.url, sources.url, url",
    ]


def test_unknown_fields_of_a_spec_are_refused() -> None:
    with pytest.raises(ValidationError):
        Api(url="x", ulr="y")  # type: ignore[call-arg]
