"""Paths into the JSON of a response or of a request body. Also runs where penstock is not installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.errors import UsageError
from penstock.interfaces.cursorpath import CursorPath, Wildcard, parse_uncached

if TYPE_CHECKING:
    from collections.abc import MutableMapping


def json_path(path: str | CursorPath) -> CursorPath:
    """Parse a path such as `data`, `meta.next`, `$` or `items[*].order`.

    >>> json_path("data.items").all({"data": {"items": [1, 2]}})
    [[1, 2]]
    """
    if isinstance(path, CursorPath):
        return path
    try:
        return parse_uncached(path)
    except UsageError:
        raise UsageError(
            f"{path!r} is not a valid JSON path",
            hint="separate names by dots, use [0] and [*] for lists and $ for the whole document; "
            "'quote' a name with other characters than letters, digits, _ and -",
        ) from None


def path_text(path: CursorPath) -> str:
    """Return the path as text for messages.

    >>> path_text(json_path("$.items[0].at"))
    'items.0.at'
    """
    steps = ("*" if isinstance(step, Wildcard) else str(step) for step in path.segments)
    return ".".join(steps) or "$"


def first_value(path: CursorPath, document: Any) -> Any:
    """Return the first value at a path; None if the path does not exist.

    >>> first_value(json_path("meta.next"), {"meta": {}}) is None
    True
    """
    return next(iter(path.all(document)), None)


def set_value(body: MutableMapping[str, Any], path: str, value: Any) -> None:
    """Set a value in a request body and create missing parent objects.

    >>> body = {"query": {"size": 10}}
    >>> set_value(body, "query.page.number", 3)
    >>> body
    {'query': {'size': 10, 'page': {'number': 3}}}
    """
    *parents, last = path.removeprefix("$.").split(".")
    for name in parents:
        inner = body.get(name)
        if not isinstance(inner, dict):
            inner = body[name] = {}
        body = inner
    body[last] = value
