from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import penstock
from penstock.errors import CurrentLoadPackageStateNotAvailable, NotDuringRun
from penstock.interfaces.run_context import CurrentPackage, override_context
from penstock.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.mark.parametrize(
    "ask",
    [
        penstock.current.pipeline,
        penstock.current.source,
        penstock.current.source_schema,
        penstock.current.resource,
        penstock.current.resource_name,
        penstock.current.resource_metrics,
        penstock.current.resource_state,
    ],
)
def test_outside_a_run_the_context_is_empty(ask: Callable[[], Any]) -> None:
    with pytest.raises(NotDuringRun):
        ask()


def test_state_outside_a_run_is_a_dict_that_is_not_stored() -> None:
    penstock.current.source_state()["a"] = 1
    penstock.current.resource_state("r")["a"] = 1

    assert penstock.current.source_state() == penstock.current.resource_state("r") == {}


def test_state_of_a_source_and_a_resource_is_created_at_first_use() -> None:
    state: dict[str, Any] = {}

    with override_context(state=state, source_name="shop", resource_name="orders"):
        penstock.current.resource_state()["last"] = 7
        penstock.current.resource_state("users")["last"] = 8
        penstock.current.source_state()["all"] = 9
        penstock.current.source_state("market")["all"] = 10

    assert state == {
        "sources": {
            "shop": {"resources": {"orders": {"last": 7}, "users": {"last": 8}}, "all": 9},
            "market": {"all": 10},
        }
    }
    assert penstock.current.state is penstock.current.source_state


def test_state_of_an_iteration_ends_with_the_iteration() -> None:
    @penstock.resource
    def counting() -> Iterator[int]:
        for _ in range(2):
            state = penstock.current.resource_state()
            state["n"] = state.get("n", 0) + 1
            yield state["n"]

    assert (list(counting), list(counting)) == ([1, 2], [1, 2])


def test_the_current_resource_is_available_to_its_function() -> None:
    @penstock.resource
    def first() -> Iterator[Any]:
        yield penstock.current.resource_name(), penstock.current.resource().name

    @penstock.transformer
    def second(item: Any) -> Iterator[Any]:
        yield item
        yield penstock.current.resource_name(), penstock.current.resource().name

    assert list(first | second) == [("first", "first"), ("second", "second")]


def test_the_function_of_a_source_can_change_its_schema() -> None:
    @penstock.source
    def shaped() -> Any:
        schema = penstock.current.source_schema()
        schema.update_table({"name": "extra", "columns": {"id": {"data_type": "text"}}})
        return penstock.resource([1], name="rows")

    assert "extra" in shaped().schema.tables


def test_the_context_of_a_run_is_returned() -> None:
    pipeline, schema = object(), Schema("shop")
    document: dict[str, Any] = {"load_id": "1.5", "state": {}}
    package = CurrentPackage(document=document, commit=lambda: None)

    with override_context(pipeline=pipeline, schema=schema, package=package):
        context = penstock.current.pipeline(), penstock.current.source_schema()
        penstock.current.destination_state()["done"] = 1

    assert context == (pipeline, schema)
    assert document["state"] == {"destination_state": {"done": 1}}
    with pytest.raises(CurrentLoadPackageStateNotAvailable):
        penstock.current.load_package_state()
