"""Texts and values from files become values of the annotated type."""

from __future__ import annotations

import base64
import json
from contextlib import suppress
from functools import lru_cache
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError

from penstock.config.hints import arms

CONFIG = ConfigDict(arbitrary_types_allowed=True, coerce_numbers_to_str=True, hide_input_in_errors=True)


def coerced(value: Any, hint: Any) -> Any:
    """`value` as `hint` wants it, or a ValueError. Lists, objects and the like may be given as JSON text.

    >>> coerced("5", int), coerced("yes", bool), coerced('["a"]', list[str]), coerced("x", str)
    (5, True, ['a'], 'x')
    """
    adapter = _adapter(hint)
    plain = _as_text(value) if set(arms(hint)) == {str} else value
    if isinstance(plain, str) and set(arms(hint)) == {bytes}:
        return base64.b64decode(plain, validate=True)
    try:
        return adapter.validate_python(plain)
    except ValidationError as error:
        said = reason(error)
    if isinstance(plain, str) and plain.lstrip()[:1] in ("[", "{"):
        with suppress(ValidationError):
            return adapter.validate_json(plain)
    raise ValueError(said)


def guessed(value: Any) -> Any:
    """A text as what it looks like: a switch, a number, a list or an object; texts stay texts.

    >>> [guessed(text) for text in ("true", "5", "5.5", "[1]", "yes", "2024-01-01")]
    [True, 5, 5.5, [1], 'yes', '2024-01-01']
    """
    if not isinstance(value, str):
        return value
    text = value.strip()
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for read in (int, float):
        with suppress(ValueError):
            return read(text)
    if text[:1] in ("[", "{"):
        with suppress(ValueError):
            return json.loads(text)
    return value


def reason(error: ValidationError) -> str:
    """What pydantic has to say, without the value."""
    said = [
        f"{'.'.join(map(str, one['loc']))}: {one['msg']}" if one["loc"] else one["msg"]
        for one in error.errors(include_url=False, include_context=False, include_input=False)
    ]
    return "; ".join(said)


def _as_text(value: Any) -> Any:
    if isinstance(value, (dict, list)):
        return json.dumps(value, default=str)
    return str(value) if isinstance(value, (bool, int, float)) or hasattr(value, "isoformat") else value


def _adapter(hint: Any) -> TypeAdapter[Any]:
    try:
        return _kept(hint)
    except TypeError:  # not hashable
        return _new(hint)


def _new(hint: Any) -> TypeAdapter[Any]:
    try:
        return TypeAdapter(hint, config=CONFIG)
    except PydanticUserError:  # a model has settings of its own
        return TypeAdapter(hint)


_kept = lru_cache(maxsize=512)(_new)
