"""Conversion of texts and values from files to the annotated types."""

from __future__ import annotations

import base64
import json
from contextlib import suppress
from functools import lru_cache
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError

from penstock.config.type_hints import union_members

ADAPTER_CONFIG = ConfigDict(
    arbitrary_types_allowed=True, coerce_numbers_to_str=True, hide_input_in_errors=True
)


def coerce_value(value: Any, hint: Any) -> Any:
    """Return `value` as `hint`, or raise ValueError. Lists and objects may be JSON text.

    >>> coerce_value("5", int), coerce_value("yes", bool), coerce_value('["a"]', list[str])
    (5, True, ['a'])
    """
    adapter = _adapter(hint)
    plain = _as_text(value) if set(union_members(hint)) == {str} else value
    if isinstance(plain, str) and set(union_members(hint)) == {bytes}:
        return base64.b64decode(plain, validate=True)
    try:
        return adapter.validate_python(plain)
    except ValidationError as error:
        message = validation_message(error)
    if isinstance(plain, str) and plain.lstrip()[:1] in ("[", "{"):
        with suppress(ValidationError):
            return adapter.validate_json(plain)
    raise ValueError(message)


def infer_value(value: Any) -> Any:
    """Return a text as a bool, number, list or object if it looks like one; otherwise unchanged.

    >>> [infer_value(text) for text in ("true", "5", "5.5", "[1]", "yes", "2024-01-01")]
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


def validation_message(error: ValidationError) -> str:
    """Return the message of pydantic without the value."""
    messages = [
        f"{'.'.join(map(str, detail['loc']))}: {detail['msg']}" if detail["loc"] else detail["msg"]
        for detail in error.errors(include_url=False, include_context=False, include_input=False)
    ]
    return "; ".join(messages)


def _as_text(value: Any) -> Any:
    if isinstance(value, (dict, list)):
        return json.dumps(value, default=str)
    return str(value) if isinstance(value, (bool, int, float)) or hasattr(value, "isoformat") else value


def _adapter(hint: Any) -> TypeAdapter[Any]:
    try:
        return _cached_adapter(hint)
    except TypeError:  # not hashable
        return _new_adapter(hint)


def _new_adapter(hint: Any) -> TypeAdapter[Any]:
    try:
        return TypeAdapter(hint, config=ADAPTER_CONFIG)
    except PydanticUserError:  # a model has its own config
        return TypeAdapter(hint)


_cached_adapter = lru_cache(maxsize=512)(_new_adapter)
