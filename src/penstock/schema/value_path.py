"""Paths of values in a row: keys of objects and a marker for elements of lists."""

from __future__ import annotations

import json
from typing import Final, NewType

Each = NewType("Each", int)
EACH: Final = Each(0)
"""The step from a list to its elements, the same for all of them."""

PathStep = str | Each
ValuePath = tuple[PathStep, ...]
"""Steps from the root row: a text is a key, `EACH` is an element. The path of the root row is `()`."""


def path_text(path: ValuePath) -> str:
    r"""Return a path as JSON in ASCII.

    >>> path_text(("items", EACH, "größe"))
    '["items",0,"gr\\u00f6\\u00dfe"]'
    """
    return json.dumps(path, separators=(",", ":"))


def parse_path(text: str) -> ValuePath:
    """Return the path of a text that `path_text` wrote.

    >>> parse_path('["items",0,"sku"]') == ("items", EACH, "sku")
    True
    """
    return tuple(json.loads(text))


def split_row(path: ValuePath) -> tuple[ValuePath, tuple[str, ...]]:
    """Split a path into the path of the row that holds the value, and the keys in that row.

    >>> split_row(("items", EACH, "a", "b"))
    (('items', 0), ('a', 'b'))
    """
    at = len(path)
    while at and path[at - 1] != EACH:
        at -= 1
    keys = tuple(step for step in path[at:] if isinstance(step, str))
    return path[:at], keys
