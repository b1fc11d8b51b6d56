"""Where in a row a value stands: keys of objects and elements of lists, told apart whatever the keys are."""

from __future__ import annotations

import json
from typing import Final, NewType

Each = NewType("Each", int)
EACH: Final = Each(0)
"""The step into the elements of a list, all of them alike."""

PathStep = str | Each
ValuePath = tuple[PathStep, ...]
"""Steps from the root row: a text is a key, `EACH` is an element. The root row itself is `()`."""


def path_text(path: ValuePath) -> str:
    r"""Write a path as JSON, in ASCII, so that it can be a column of an evidence table.

    >>> path_text(("items", EACH, "größe"))
    '["items",0,"gr\\u00f6\\u00dfe"]'
    """
    return json.dumps(path, separators=(",", ":"))


def parse_path(text: str) -> ValuePath:
    """Read what `path_text` wrote.

    >>> parse_path('["items",0,"sku"]') == ("items", EACH, "sku")
    True
    """
    return tuple(json.loads(text))


def split_row(path: ValuePath) -> tuple[ValuePath, tuple[str, ...]]:
    """Split into the way to the row that holds the value, and the keys inside that row.

    >>> split_row(("items", EACH, "a", "b"))
    (('items', 0), ('a', 'b'))
    """
    at = len(path)
    while at and path[at - 1] != EACH:
        at -= 1
    keys = tuple(step for step in path[at:] if isinstance(step, str))
    return path[:at], keys
