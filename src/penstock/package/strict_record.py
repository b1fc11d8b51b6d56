"""Records read from control files, with the type of every field checked."""

from __future__ import annotations

import math
from collections import abc
from dataclasses import fields
from functools import cache
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from penstock.errors import PackageDamaged

if TYPE_CHECKING:
    from collections.abc import Mapping

    from _typeshed import DataclassInstance

    T = TypeVar("T", bound=DataclassInstance)


def read_record(record_type: type[T], content: Mapping[str, Any], *, path: str) -> T:
    """Build a record; a field that is missing, unknown or of another type is damage."""
    try:
        return validate_fields(record_type(**content))
    except TypeError as error:
        raise PackageDamaged(path=path, reason=str(error)) from error


def validate_fields(value: T) -> T:
    """Return the record; raise a `TypeError` that names a field of a wrong type."""
    hints = _type_hints(type(value))
    for field in fields(value):
        content = getattr(value, field.name)
        if not _matches_hint(content, hints[field.name]):
            raise TypeError(f"{field.name} is {content!r:.80}")
    return value


@cache
def _type_hints(record_type: type) -> dict[str, Any]:
    return get_type_hints(record_type, localns={"Mapping": abc.Mapping})


def _matches_hint(value: Any, hint: Any) -> bool:
    origin = get_origin(hint)
    if hint is Any:
        return True
    if origin in {Union, UnionType}:
        return any(_matches_hint(value, part) for part in get_args(hint))
    if origin is Literal:
        return value in get_args(hint)
    if isinstance(value, bool):
        return hint is bool
    if hint is float:
        return isinstance(value, int | float) and _is_finite(value)
    return isinstance(value, origin or hint)


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number that is greater than every float
        return False
