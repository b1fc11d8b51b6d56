"""Arguments of declared functions are looked up in the configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import penstock
from penstock.config import with_config
from penstock.errors import ConfigFieldMissing

if TYPE_CHECKING:
    from collections.abc import Iterator


@penstock.resource
def issues(token: str = penstock.secrets.value, size: int = 10) -> Iterator[Any]:
    yield token, size


@penstock.transformer
def details(item: Any, verbose: bool = False) -> Any:
    return (*item, verbose)


@penstock.source
def hub(pages: int = penstock.config.value) -> Any:
    return penstock.resource([pages], name="pages"), issues, issues | details


@pytest.fixture
def variables(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setenv("SOURCES__TEST_SETTINGS__HUB__PAGES", "3")
    monkeypatch.setenv("SOURCES__TEST_SETTINGS__ISSUES__TOKEN", "t")
    monkeypatch.setenv("SOURCES__TEST_SETTINGS__DETAILS__VERBOSE", "true")
    return monkeypatch


def test_arguments_are_looked_up_in_the_section_of_the_function(variables: pytest.MonkeyPatch) -> None:
    assert list(hub()) == [3, ("t", 10), ("t", 10, True)]
    assert list(hub(pages=1).with_resources("pages")) == [1]


def test_arguments_of_a_resource_use_the_section_of_its_source(
    variables: pytest.MonkeyPatch,
) -> None:
    variables.setenv("SOURCES__OTHER__HUB__PAGES", "4")
    variables.setenv("SOURCES__OTHER__ISSUES__SIZE", "99")
    variables.setenv("SOURCES__OTHER__ISSUES__TOKEN", "of the other")

    assert list(hub.clone(section="other")().with_resources("issues")) == [("of the other", 99)]
    assert list(issues) == [("t", 10)]


def test_a_missing_setting_is_named_with_the_keys_that_were_tried() -> None:
    with pytest.raises(ConfigFieldMissing, match="SOURCES__TEST_SETTINGS__ISSUES__TOKEN"):
        list(issues)


def test_settings_are_read_once_with_the_first_item(variables: pytest.MonkeyPatch) -> None:
    bound = penstock.resource([("a", 1), ("b", 2)], name="given") | details()

    variables.setenv("SOURCES__TEST_SETTINGS__DETAILS__VERBOSE", "false")

    assert list(bound) == [("a", 1, False), ("b", 2, False)]


def test_functions_that_a_source_calls_use_its_section(variables: pytest.MonkeyPatch) -> None:
    variables.setenv("SOURCES__TEST_SETTINGS__ASKING__COLOUR", "red")

    @with_config
    def colour(colour: str = penstock.config.value) -> str:
        return colour

    @penstock.source
    def asking() -> Any:
        return penstock.resource([colour()], name="colours")

    assert list(asking()) == ["red"]
