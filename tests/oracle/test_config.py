"""The lookup of settings is that of dlt: the same places and the same values."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.oracle import penstock_config as ours
from tests.oracle.config_cases import CALLS, GIVEN, GUESSED, NOWHERE, ORDERS, TEXTS, TOML, URLS
from tests.oracle.oracle_client import ask, needs_dlt, vector
from tests.rule_assertions import assert_no_offenders

from penstock.config import ConnectionStringCredentials, Settings
from penstock.config.coerce import infer_value
from penstock.config.inject import resolve_arguments
from penstock.config.signature import function_spec
from penstock.errors import ConfigFieldMissing, ConfigValueCannotBeCoerced

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

BRIDGE = Path(__file__).parent / "config_bridge.py"
BY_NAME = {order.name: order for order in ORDERS}
UNREAD_PLACES = [(BY_NAME[name], key) for name, keys in NOWHERE.items() for key in keys]
QUESTIONS: dict[str, dict[str, Any]] = {
    "lookups": {"orders": [order.question() for order in ORDERS]},
    "nowhere": {"orders": [(order.question(), key) for order, key in UNREAD_PLACES]},
    "coercions": {"texts": TEXTS, "toml": TOML},
    "guesses": {"texts": GUESSED},
    "urls": {"urls": URLS},
    "calls": {"calls": CALLS},
    "given": {"calls": GIVEN},
}

ERRORS: dict[str, type[Exception]] = {
    "ConfigFieldMissingException": ConfigFieldMissing,
    "ConfigValueCannotBeCoercedException": ConfigValueCannotBeCoerced,
    "InvalidConnectionString": ValueError,
    "TypeError": TypeError,
}


def dlt_answers(name: str) -> Any:
    return ask(name, bridge=BRIDGE, **QUESTIONS[name])


def outcome(function: Callable[[], Any]) -> Any:
    """Return the value, or the error that dlt would raise."""
    try:
        return ours.encode(function())
    except tuple(ERRORS.values()) as error:
        return {"error": next(name for name, kind in ERRORS.items() if isinstance(error, kind))}


@needs_dlt
@pytest.mark.parametrize("name", QUESTIONS)
def test_dlt_still_answers_as_recorded(name: str) -> None:
    assert dlt_answers(name) == vector("config.json")[name]


def test_settings_are_looked_up_in_the_order_of_dlt() -> None:
    offenders: list[str] = []
    for order, winners in zip(ORDERS, vector("config.json")["lookups"], strict=True):
        written = [f"p{start}" for start in range(len(order.places))]
        expected = [value.rpartition("/")[2] for value in winners]
        our = [
            str(ours.winner(order, order.values(start))).rpartition("/")[2] for start in range(len(written))
        ]
        if not our == expected == written:
            offenders.append(f"{order.name}: {our}, dlt {expected}, written {written}")

    assert_no_offenders(offenders, "look the places up in the order of dlt, as `config_cases.ORDERS` has it")


def test_no_place_is_read_that_dlt_does_not_read() -> None:
    expected = vector("config.json")["nowhere"]
    our = [ours.winner(order, [["environment", key, "wrong"]]) for order, key in UNREAD_PLACES]

    assert "wrong" not in [*expected, *our]


def test_the_lookup_table_has_the_documented_number_of_places() -> None:
    assert sum(len(order.places) for order in ORDERS) > 200
    assert {order.kind for order in ORDERS} == {"source", "resource", "destination", "section", "nested"}


def assert_equal_to_dlt(pairs: Iterable[tuple[str, Any, Any]]) -> None:
    """Fail with every case whose result differs from that of dlt."""
    assert_no_offenders(
        (f"{question}: {our!r}, dlt {expected!r}" for question, our, expected in pairs if our != expected),
        "return what dlt returns",
    )


def test_values_of_the_environment_are_parsed_as_in_dlt() -> None:
    expected = vector("config.json")["coercions"]

    assert_equal_to_dlt(
        (f"{hint} {text!r}", outcome(partial(ours.coerced_text, hint, text)), expected[f"{hint} {text!r}"])
        for hint, texts in TEXTS.items()
        for text in texts
    )


def test_values_of_files_are_coerced_as_in_dlt() -> None:
    expected = vector("config.json")["coercions"]

    assert_equal_to_dlt(
        (f"{hint} {text}", outcome(partial(ours.coerced_toml, hint, text)), expected[f"{hint} toml {text}"])
        for hint, texts in TOML.items()
        for text in texts
    )


def test_a_value_without_a_type_hint_has_the_type_that_dlt_infers() -> None:
    expected = vector("config.json")["guesses"]

    assert_equal_to_dlt(
        (repr(text), ours.encode(infer_value(text)), guess)
        for text, guess in zip(GUESSED, expected, strict=True)
    )


def test_a_connection_string_is_parsed_as_in_dlt() -> None:
    def parts(url: str) -> list[Any]:
        credentials = ConnectionStringCredentials()
        credentials.parse_native_representation(url)
        return [ours.encode(credentials), str(credentials)]

    expected = vector("config.json")["urls"]

    assert_equal_to_dlt(
        (url, outcome(partial(parts, url)), answer) for url, answer in zip(URLS, expected, strict=True)
    )


@pytest.mark.parametrize("at", range(len(CALLS)), ids=[call[0] for call in CALLS])
def test_a_function_gets_the_same_arguments_as_from_dlt(at: int) -> None:
    _, arguments, environment = CALLS[at]

    assert outcome(lambda: called(ours.call, arguments, environment)) == vector("config.json")["calls"][at]


@pytest.mark.parametrize("at", range(len(GIVEN)), ids=[call[0] for call in GIVEN])
def test_a_function_gets_the_same_secrets_as_from_dlt(at: int) -> None:
    _, arguments, environment = GIVEN[at]

    result = outcome(lambda: [ours.encode(item) for item in called(ours.given, arguments, environment)])

    assert result == vector("config.json")["given"][at]


def called(function: Callable[..., Any], arguments: dict[str, Any], environment: dict[str, str]) -> Any:
    result = resolve_arguments(
        function_spec(function), arguments, settings=Settings(environment=environment), sections=("s",)
    )
    return function(**{**arguments, **result})
