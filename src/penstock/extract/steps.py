"""Steps that items pass: each is a function of an item and its mark, for rows and for pages of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, assert_never

from penstock.interfaces.items import EmptyTable

if TYPE_CHECKING:
    from penstock.interfaces.source import ItemStep

Stage = Callable[[Any, Any], Any]


def build_stage(step: ItemStep, metrics: dict[str, Any]) -> Stage:
    """Return the function that the engine calls for a step."""
    function = _with_mark(step)
    match step.kind:
        case "map":
            return _map_stage(function)
        case "filter":
            return _filter_stage(function)
        case "yield_map":
            return _yield_map_stage(function)
        case "call":
            return function
        case "metrics":
            return _metrics_stage(step.function, metrics)
        case "incremental":
            return _passthrough
        case _:
            assert_never(step.kind)


def _passthrough(item: Any, _: Any) -> Any:
    """Return the item: the resource has no cursor."""
    return item


def _with_mark(step: ItemStep) -> Stage:
    function = step.function
    return function if step.takes_mark else lambda item, _: function(item)


def _map_stage(function: Stage) -> Stage:
    def mapped(item: Any, mark: Any) -> Any:
        if not isinstance(item, list):
            return function(item, mark)
        # An empty page may declare a table.
        return [function(row, mark) for row in item] if item else item

    return mapped


def _filter_stage(function: Stage) -> Stage:
    def filtered(item: Any, mark: Any) -> Any:
        if not isinstance(item, list):
            return item if function(item, mark) else None
        if not item:
            return item
        return [row for row in item if function(row, mark)] or None

    return filtered


def _yield_map_stage(function: Stage) -> Stage:
    def yielded(item: Any, mark: Any) -> Any:
        if isinstance(item, EmptyTable):
            return item
        return _yield_from_rows(function, item, mark)

    return yielded


def _yield_from_rows(function: Stage, item: Any, mark: Any) -> Iterator[Any]:
    for row in item if isinstance(item, list) else (item,):
        yield from function(row, mark)


def _metrics_stage(function: Callable[..., None], metrics: dict[str, Any]) -> Stage:
    def measured(item: Any, mark: Any) -> Any:
        function(item, mark, metrics)
        return item

    return measured
