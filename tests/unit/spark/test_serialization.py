"""Code is packed so that it can be opened where neither penstock nor the user's modules are."""

from __future__ import annotations

import json
from typing import Any

from pyspark import cloudpickle

import penstock
from penstock.config.secret import SecretText
from penstock.interfaces import pace
from penstock.spark.serialization import loads, serialize_by_value, serialized_runner, without_defaults

REGISTRY: Any = cloudpickle.cloudpickle


def helper(number: int) -> int:
    return number + 1


def function(item: int, key: penstock.TSecretStrValue = penstock.secrets.value, *, more: int = 2) -> Any:
    return helper(item), key, more


def test_modules_that_are_not_installed_are_sent_and_installed_ones_are_not() -> None:
    content = serialize_by_value(function)

    assert loads(content) is not function
    assert loads(content)(1, "key") == (2, "key", 2)
    assert loads(serialize_by_value(json.dumps)) is json.dumps


def test_the_list_of_modules_is_left_as_it_was() -> None:
    before = set(REGISTRY.list_registry_pickle_by_value())

    serialize_by_value(pace.Pacer, pace)

    assert set(REGISTRY.list_registry_pickle_by_value()) == before


def test_a_bare_function_has_neither_defaults_nor_annotations() -> None:
    stripped = without_defaults(function)

    assert stripped.__annotations__ == {}
    assert stripped(1, "key", more=3) == (2, "key", 3)
    assert without_defaults(json.dumps).__name__ == "dumps"
    assert without_defaults(print) is print


def test_defaults_and_annotations_for_penstock_are_not_sent() -> None:
    content = serialize_by_value(({"default": penstock.secrets.value}, SecretText("open-sesame-1")))

    assert b"penstock" not in content
    assert loads(content) == ({"default": None}, "open-sesame-1")
    assert type(loads(content)[1]) is str


class Task:
    def run(self, number: int) -> list[int]:
        return [number, number * 10]


class Batch:
    def __init__(self, numbers: list[int]) -> None:
        self._numbers = numbers

    def column(self, _: int) -> Any:
        return self

    def to_pylist(self) -> list[int]:
        return self._numbers


def test_a_carried_task_runs_the_parts_that_it_is_asked_for() -> None:
    run: Any = serialized_runner(serialize_by_value(Task()))

    assert list(run([Batch([1]), Batch([2, 3])])) == [1, 10, 2, 20, 3, 30]
