"""The work items of a resource: plain values with digests."""

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
    """One work item; `digest` identifies it in this run and in later ones."""

    value: Any
    digest: str
    size: int


def iter_work_items(declared: Any) -> Iterator[WorkItem]:
    """Yield the declared items, without None."""
    for value in _declared_values(declared):
        if value is not None:
            yield to_work_item(value)


def to_work_item(value: Any) -> WorkItem:
    """Convert a value to a work item: plain JSON types, dates, timestamps, decimals and bytes.

    >>> to_work_item((1, 2)).value
    [1, 2]
    """
    try:
        plain = to_typed(value)
        text = json.dumps(plain, sort_keys=True, allow_nan=False)
    except (UsageError, ValueError, RecursionError) as error:
        raise UsageError(
            f"a {type(value).__name__} cannot be a work item",
            hint="use texts, numbers, dates, bytes, lists and dicts",
        ) from error
    return WorkItem(from_typed(plain), hashlib.sha256(text.encode()).hexdigest()[:_DIGEST_DIGITS], len(text))


def _declared_values(declared: Any) -> Iterator[Any]:
    if frame_kind(declared) == "spark":
        return (row.asDict(recursive=True) for row in declared.toLocalIterator())
    values = declared() if callable(declared) else declared
    if frame_kind(values) == "spark":
        return _declared_values(values)
    if isinstance(values, (str, bytes, dict)) or not isinstance(values, Iterable):
        raise UnsupportedData(data_type=type(values).__name__, reason="work items must be an iterable")
    return iter(values)
