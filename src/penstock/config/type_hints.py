"""Predicates over annotated types."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin

from pydantic import SecretBytes, SecretStr

from penstock.config.secret import SecretMark

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def is_secret(hint: Any, metadata: Iterable[Any] = ()) -> bool:
    """Return whether a value of this type is or contains a secret.

    >>> from penstock.config.secret import TSecretStrValue
    >>> is_secret(TSecretStrValue | None), is_secret(str)
    (True, False)
    """
    if any(isinstance(mark, SecretMark) or mark is SecretMark for mark in metadata):
        return True
    if get_origin(hint) is Annotated:
        return is_secret(hint.__origin__, hint.__metadata__)
    if isinstance(hint, type) and issubclass(hint, (SecretStr, SecretBytes)):
        return True
    return any(is_secret(part) for part in get_args(hint))


def is_optional(hint: Any) -> bool:
    """Return whether None is a value of this type.

    >>> is_optional(int | None), is_optional(Any), is_optional(int)
    (True, False, False)
    """
    if get_origin(hint) is Annotated:
        return is_optional(hint.__origin__)
    return hint is type(None) or (is_union(hint) and any(is_optional(arm) for arm in get_args(hint)))


def is_union(hint: Any) -> bool:
    """Return whether this is `A | B` or `Union[A, B]`."""
    return get_origin(hint) in (Union, types.UnionType)


def union_members(hint: Any) -> Iterator[Any]:
    """Yield the members of a union, without None and annotations."""
    if get_origin(hint) is Annotated:
        yield from union_members(hint.__origin__)
    elif is_union(hint):
        for arm in get_args(hint):
            yield from union_members(arm)
    elif hint is not type(None):
        yield hint


def member_subclasses(hint: Any, base: type) -> tuple[type, ...]:
    """Return the members of a type that are subclasses of `base`."""
    return tuple(arm for arm in union_members(hint) if isinstance(arm, type) and issubclass(arm, base))


def type_name(hint: Any) -> str:
    """Return a type as text: `int`, `list[str] | None`."""
    return hint.__name__ if isinstance(hint, type) else str(hint).replace("typing.", "")
