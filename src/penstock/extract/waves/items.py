"""The work items of a resource as they are handed out: plain values, and what each is known by."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from penstock.errors import UnsupportedData, UsageError
from penstock.interfaces.frames import frame_kind
from penstock.package.typed_json import from_typed, to_typed

_DIGEST_DIGITS = 24


@dataclass(frozen=True, slots=True)
class WorkItem:
    """One work item; `digest` tells it from others, in this run and in the next."""

    value: Any
    digest: str
    size: int


def iter_work_items(declared: Any) -> Iterator[WorkItem]:
    """The items that were declared, one at a time; those that are None are none."""
    for value in _declared_values(declared):
        if value is not None:
            yield to_work_item(value)


def to_work_item(value: Any) -> WorkItem:
    """An item as every place gets it: what JSON can hold, with dates, moments, decimals and bytes.

    >>> to_work_item((1, 2)).value
    [1, 2]
    """
    try:
        plain = to_typed(value)
        text = json.dumps(plain, sort_keys=True, allow_nan=False)
    except (UsageError, ValueError, RecursionError) as error:
        raise UsageError(
            f"a {type(value).__name__} cannot be a work item",
            hint="give texts, numbers, dates, bytes, lists and dicts: what the function needs to begin with",
        ) from error
    return WorkItem(from_typed(plain), hashlib.sha256(text.encode()).hexdigest()[:_DIGEST_DIGITS], len(text))


def _declared_values(declared: Any) -> Iterator[Any]:
    if frame_kind(declared) == "spark":
        return (row.asDict(recursive=True) for row in declared.toLocalIterator())
    found = declared() if callable(declared) else declared
    if frame_kind(found) == "spark":
        return _declared_values(found)
    if isinstance(found, (str, bytes, dict)) or not isinstance(found, Iterable):
        raise UnsupportedData(data_type=type(found).__name__, reason="it must give the work items")
    return iter(found)
