"""Steps that items pass: each is a function of an item and its mark, for rows and for pages of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, assert_never

from penstock.interfaces.items import EmptyTable

if TYPE_CHECKING:
    from penstock.interfaces.source import Step

Stage = Callable[[Any, Any], Any]


def stage_of(step: Step, metrics: dict[str, Any]) -> Stage:
    """What the engine calls for a step."""
    one = _with_mark(step)
    match step.kind:
        case "map":
            return _mapping(one)
        case "filter":
            return _filtering(one)
        case "yield_map":
            return _yielding(one)
        case "call":
            return one
        case "metrics":
            return _measuring(step.function, metrics)
        case "incremental":
            return _passing
        case _:
            assert_never(step.kind)


def _passing(item: Any, _: Any) -> Any:
    """A cursor that a resource could have and has not."""
    return item


def _with_mark(step: Step) -> Stage:
    function = step.function
    return function if step.takes_mark else lambda item, _: function(item)


def _mapping(one: Stage) -> Stage:
    def mapped(item: Any, mark: Any) -> Any:
        if not isinstance(item, list):
            return one(item, mark)
        # An empty page may stand for a table that is to be made.
        return [one(row, mark) for row in item] if item else item

    return mapped


def _filtering(one: Stage) -> Stage:
    def filtered(item: Any, mark: Any) -> Any:
        if not isinstance(item, list):
            return item if one(item, mark) else None
        if not item:
            return item
        return [row for row in item if one(row, mark)] or None

    return filtered


def _yielding(one: Stage) -> Stage:
    def yielded(item: Any, mark: Any) -> Any:
        if isinstance(item, EmptyTable):
            return item
        return _each(one, item, mark)

    return yielded


def _each(one: Stage, item: Any, mark: Any) -> Iterator[Any]:
    for row in item if isinstance(item, list) else (item,):
        yield from one(row, mark)


def _measuring(function: Callable[..., None], metrics: dict[str, Any]) -> Stage:
    def measured(item: Any, mark: Any) -> Any:
        function(item, mark, metrics)
        return item

    return measured
