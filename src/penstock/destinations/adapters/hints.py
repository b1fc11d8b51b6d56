"""The resource that an adapter changes, and the checks of its arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.errors import UsageError, suggestion
from penstock.sources import Resource, Source
from penstock.sources.decorators import resource

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

Columns = dict[str, dict[str, Any]]
"""Hints of columns, by name."""


def adapted_resource(data: Any) -> Resource:
    """Return the resource, the single resource of a source, or a resource of the data.

    A resource of data without a name is called `content`.

    >>> adapted_resource([{"id": 1}]).name
    'content'
    """
    match data:
        case Resource():
            return data
        case Source() if len(data.selected_resources) == 1:
            (name,) = data.selected_resources
            return data.resources[name]
        case Source():
            raise UsageError(
                f"an adapter takes a single resource; the source {data.name} has "
                f"{len(data.selected_resources)} selected ones",
                hint=f"pass one of them: source.{next(iter(data.resources), 'resource')}",
            )
        case _:
            content: Resource = resource(data, name=getattr(data, "__name__", "content"))
            return content


def column_names(adapter: str, argument: str, value: Any) -> list[str]:
    """Return the columns that an argument names: none, one or several.

    >>> column_names("qdrant_adapter", "embed", "body")
    ['body']
    """
    names = [value] if isinstance(value, str) else value or []
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
        raise _invalid(adapter, argument, value, "the name of a column, or a list of names")
    return list(names)


def checked_word(adapter: str, argument: str, value: str, words: Collection[str]) -> str:
    """Return a value that is one of these words."""
    if value not in words:
        raise UsageError(f"{argument} of {adapter} cannot be {value!r}", hint=suggestion(value, words))
    return value


def checked_type(adapter: str, argument: str, value: Any, *types: type) -> None:
    """Refuse a value of another type; None is an argument that is not set."""
    if value is not None and not isinstance(value, types):
        raise _invalid(adapter, argument, value, " or ".join(f"a {kind.__name__}" for kind in types))


def joined_columns(*parts: Mapping[str, Mapping[str, Any]]) -> Columns:
    """Return the hints of all parts, joined by column.

    >>> joined_columns({"a": {"x-one": True}}, {"a": {"x-two": True}})
    {'a': {'name': 'a', 'x-one': True, 'x-two': True}}
    """
    columns: Columns = {}
    for part in parts:
        for name, hints in part.items():
            columns.setdefault(name, {"name": name}).update(hints)
    return columns


def without_hints(adapter: str, *arguments: str) -> UsageError:
    """Return the error of a call without hints."""
    return UsageError(f"{adapter} got no hints to set", hint=f"pass {' or '.join(arguments)}")


def _invalid(adapter: str, argument: str, value: Any, expected: str) -> UsageError:
    return UsageError(f"{argument}={value!r} of {adapter} is invalid", hint=f"pass {expected}")
