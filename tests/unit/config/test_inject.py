from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Any

import pytest

from penstock.config import (
    BaseConfiguration,
    CredentialsConfiguration,
    SecretText,
    Settings,
    TSecretStrValue,
    config_value,
    configspec,
    function_spec,
    get_fun_spec,
    in_scope,
    redact,
    resolve_arguments,
    secrets_value,
    with_config,
)
from penstock.errors import ConfigFieldMissing, UsageError, ValueNotSecret

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from pathlib import Path

    import pandas as pd


@configspec
class Login(CredentialsConfiguration):
    user: str = None  # type: ignore[assignment]
    password: TSecretStrValue = None  # type: ignore[assignment]

    def parse_native_representation(self, native_value: Any) -> None:
        self.user, self.password = native_value.split(":")


@pytest.fixture(autouse=True)
def empty_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "home"))
    return tmp_path


@with_config(sections=("sources", "hub"))
def github(
    repository: str, token: str = secrets_value, organisation: str = config_value, pages: int = 10
) -> tuple[str, str, str, int]:
    return repository, token, organisation, pages


def test_marked_arguments_are_found_and_defaults_overridden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCES__HUB__TOKEN", "hunter2")
    monkeypatch.setenv("SOURCES__ORGANISATION", "penstock")
    monkeypatch.setenv("SOURCES__HUB__PAGES", "3")

    assert github("repo") == ("repo", "hunter2", "penstock", 3)


def test_passed_arguments_win_by_position_and_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "hunter2")
    monkeypatch.setenv("PAGES", "3")

    assert github("repo", "mine", organisation="us", pages=10) == ("repo", "mine", "us", 10)


def test_a_marker_that_is_passed_is_nothing_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "hunter2")

    assert github("repo", secrets_value, organisation="us")[1] == "hunter2"


def test_an_argument_without_default_is_the_callers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPOSITORY", "repo")

    with pytest.raises(TypeError, match="repository"):
        github(token="x", organisation="y")  # type: ignore[call-arg]


def test_all_missing_arguments_are_named_at_once() -> None:
    with pytest.raises(ConfigFieldMissing) as caught:
        github("repo")

    assert caught.value.spec == "github()"
    assert list(caught.value.fields) == ["token", "organisation"]
    assert "environment: SOURCES__HUB__TOKEN" in caught.value.fields["token"]
    assert "config.toml: sources.hub.token" not in caught.value.fields["token"]


def test_none_for_a_marked_argument_is_refused_and_the_call_is_named() -> None:
    with pytest.raises(ConfigFieldMissing) as caught:
        github("repo", token=None, organisation="us")  # type: ignore[arg-type]

    assert caught.value.fields == {"token": ("the call: None",)}


def test_a_secret_argument_is_a_text_that_does_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "hunter2")

    token = github("repo", organisation="us")[1]

    assert isinstance(token, SecretText)
    assert f"Bearer {token}" == "Bearer hunter2"
    assert "hunter2" not in repr([token])


def test_a_secret_argument_in_the_wrong_file_is_refused(empty_project: Path) -> None:
    (empty_project / ".penstock").mkdir()
    (empty_project / ".penstock" / "config.toml").write_text('token = "hunter2"')

    with pytest.raises(ValueNotSecret, match=r"config\.toml: token"):
        github("repo", organisation="us")


def test_the_pipeline_and_the_sections_of_the_scope_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP__SOURCES__FILES__BUCKET", "of the pipeline")
    monkeypatch.setenv("SOURCES__FILES__BUCKET", "of all")

    @with_config
    def files(bucket: str = config_value) -> str:
        return bucket

    with in_scope(sections=("sources", "files")):
        assert files() == "of all"
        with in_scope(pipeline_name="shop"):
            assert files() == "of the pipeline"
    with pytest.raises(ConfigFieldMissing):
        files()


def test_credentials_become_their_spec_from_every_form(monkeypatch: pytest.MonkeyPatch) -> None:
    @with_config(sections="sources")
    def database(login: Login = secrets_value) -> Login:
        return login

    want = Login(user="ada", password="x")
    assert database("ada:x") == want  # type: ignore[arg-type]
    assert database({"user": "ada", "password": "x"}) == want  # type: ignore[arg-type]
    assert database(Login(user="ada", password="x")) == want
    monkeypatch.setenv("SOURCES__LOGIN__PASSWORD", "x")
    monkeypatch.setenv("LOGIN__USER", "ada")
    assert database() == want


def test_an_optional_argument_that_is_not_found_is_none() -> None:
    @with_config
    def maybe(
        token: str | None = secrets_value, login: Login | None = None
    ) -> tuple[str | None, Login | None]:
        return token, login

    assert maybe() == (None, None)


def test_decorated_functions_keep_their_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COUNT", "2")

    @with_config
    def rows(count: int = config_value) -> Iterator[int]:
        yield from range(count)

    @with_config
    async def later(count: int = config_value) -> int:
        return count

    @with_config
    async def pages(count: int = config_value) -> AsyncIterator[int]:
        for number in range(count):
            yield number

    async def all_pages() -> list[int]:
        return [number async for number in pages()]

    assert list(rows()) == [0, 1]
    assert asyncio.run(later()) == 2
    assert asyncio.run(all_pages()) == [0, 1]
    assert inspect.isgeneratorfunction(inspect.unwrap(rows))
    assert (rows.__name__, rows.__doc__) == ("rows", None)


def test_all_kinds_of_parameters_are_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("B", "2")
    monkeypatch.setenv("D", "4")

    @with_config
    def every(a: int, /, b: int = config_value, *c: int, d: int = config_value, **e: int) -> Any:
        return a, b, c, d, e

    assert every(1) == (1, 2, (), 4, {})
    assert every(1, 5, 6, 7, d=8, f=9) == (1, 5, (6, 7), 8, {"f": 9})


def test_names_that_models_have_as_methods_can_be_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCHEMA", "public")
    monkeypatch.setenv("JSON", "yes")

    @with_config
    def table(schema: str = config_value, json: bool = False, copy: str = "c", model_config: int = 1) -> Any:
        return schema, json, copy, model_config

    assert table() == ("public", True, "c", 1)


def test_a_default_that_no_file_could_hold_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CLIENT", "BEFORE", "FRAME", "_HIDDEN", "SIZES"):
        monkeypatch.setenv(name, "[1]")

    def before() -> None: ...

    @with_config
    def odd(
        client: Any = object(),  # noqa: B008 - what the test is about
        before: Callable[[], None] = before,
        frame: pd.DataFrame | None = None,
        _hidden: int = 1,
        sizes: list[int] = [],  # noqa: B006 - what the test is about
    ) -> Any:
        return client, before, frame, _hidden, sizes

    client, kept, frame, hidden, sizes = odd()

    assert client == "[1]", "of any type: a text is one"
    assert (kept, frame, hidden, sizes) == (before, None, 1, [1])


def test_a_marked_argument_whose_type_cannot_be_read_is_refused_at_once() -> None:
    with pytest.raises(UsageError, match=r"unknown type of frame in .*reading.*: pd\.DataFrame"):

        @with_config
        def reading(frame: pd.DataFrame = config_value) -> None: ...


def test_with_a_spec_its_fields_fill_arguments_even_without_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S__SIZE", "5")
    monkeypatch.setenv("OTHER", "7")
    monkeypatch.setenv("MARKED", "m")

    @configspec
    class Sizes(BaseConfiguration):
        size: int = None  # type: ignore[assignment]
        label: str = "of the spec"

    @with_config(spec=Sizes, sections=("s",))
    def sized(size: int, label: str = "of the function", other: int = 3, marked: str = config_value) -> Any:
        return size, label, other, marked

    assert sized() == (5, "of the spec", 3, "m")  # type: ignore[call-arg]
    assert sized(2, marked="x") == (2, "of the spec", 3, "x")


def test_ordinary_defaults_can_be_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGES", "3")

    @with_config(include_defaults=False)
    def paged(pages: int = 10) -> int:
        return pages

    assert paged() == 10


def test_the_spec_of_a_function_lists_its_configurable_arguments() -> None:
    spec = get_fun_spec(github)

    assert spec is not None
    assert [(one.name, one.required, one.secret) for one in spec.fields] == [
        ("token", True, True),
        ("organisation", True, False),
        ("pages", False, False),
    ]
    assert spec.marked == {"token", "organisation"}
    assert get_fun_spec(len) is None


def test_arguments_can_be_resolved_without_a_wrapper() -> None:
    def source(key: str = secrets_value, size: int = 3) -> None: ...

    found = resolve_arguments(
        function_spec(source),
        {"size": 9},
        settings=Settings(environment={"SHOP__KEY": "k", "KEY": "other", "SIZE": "1"}),
        sections=("sources",),
        pipeline_name="shop",
    )

    assert found == {"key": "k"}


def test_a_secret_that_the_caller_passes_does_not_show_either() -> None:
    @with_config(sections=("sources", "hub"))
    def opened(key: str = secrets_value) -> str:
        return key

    passed = "a-key-passed-by-hand-8c1"

    assert opened(passed) == passed
    assert redact(f"refused: {passed}") == "refused: ***"
