"""Texts and values from files become values of the annotated type."""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError

CONFIG = ConfigDict(arbitrary_types_allowed=True, coerce_numbers_to_str=True, hide_input_in_errors=True)


def coerced(value: Any, hint: Any) -> Any:
    """`value` as `hint` wants it, or a ValueError. Lists, objects and the like may be given as JSON text.

    >>> coerced("5", int), coerced("yes", bool), coerced('["a"]', list[str]), coerced("x", str)
    (5, True, ['a'], 'x')
    """
    adapter = _adapter(hint)
    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        said = reason(error)
    if isinstance(value, str):
        with suppress(ValidationError):
            return adapter.validate_json(value)
    raise ValueError(said)


def reason(error: ValidationError) -> str:
    """What pydantic has to say, without the value."""
    said = [
        f"{'.'.join(map(str, one['loc']))}: {one['msg']}" if one["loc"] else one["msg"]
        for one in error.errors(include_url=False, include_context=False, include_input=False)
    ]
    return "; ".join(said)


def _adapter(hint: Any) -> TypeAdapter[Any]:
    try:
        return _kept(hint)
    except TypeError:  # not hashable
        return _new(hint)


def _new(hint: Any) -> TypeAdapter[Any]:
    try:
        return TypeAdapter(hint, config=CONFIG)
    except PydanticUserError:  # a model has its own settings
        return TypeAdapter(hint)


_kept = lru_cache(maxsize=512)(_new)
