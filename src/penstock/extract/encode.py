"""A Python row becomes one line of JSON text. Types that JSON lacks carry a one-character tag."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import orjson

from penstock.package import tags

_FAST = orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_NON_STR_KEYS
# The first two UTF-8 bytes that all tags share: a cheap look before a careful one.
_TAG_BYTES = tags.DECIMAL.encode()[:2]
# What the encoder takes; past it a number travels as tagged text.
_BIGGEST, _SMALLEST = 2**64 - 1, -(2**63)


def encode(row: Any) -> bytes:
    """The JSON text of a row; a row that is no object becomes `{"value": row}`.

    >>> encode({"a": 1}), encode(7)
    (b'{"a":1}', b'{"value":7}')
    """
    shaped = row if isinstance(row, Mapping) or _has_fields(row) else {"value": row}
    try:
        text = orjson.dumps(shaped, _tagged, _FAST)
    except orjson.JSONEncodeError:
        return orjson.dumps(_careful(shaped), _tagged, _FAST)
    # The encoder writes NaN and Infinity as null, and lets a user's text begin like one of our tags.
    if _TAG_BYTES in text or (b"null" in text and _has_infinite(shaped)):
        return orjson.dumps(_careful(shaped), _tagged, _FAST)
    return text


def _has_fields(row: Any) -> bool:
    return (is_dataclass(row) and not isinstance(row, type)) or hasattr(row, "model_dump")


def _has_infinite(value: Any) -> bool:
    if isinstance(value, float):
        return not math.isfinite(value)
    if isinstance(value, Mapping):
        return any(map(_has_infinite, value.values()))
    if isinstance(value, (list, tuple, set, frozenset)):
        return any(map(_has_infinite, value))
    return _has_fields(value)


def _tagged(value: Any) -> Any:
    """The encoder asks here for every type it does not know."""
    if isinstance(value, datetime):
        moment = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
        return tags.DATETIME + moment.isoformat()
    if isinstance(value, Decimal):
        return (tags.DECIMAL + format(value, "f")) if value.is_finite() else (tags.NUMBER + str(float(value)))
    if isinstance(value, date):
        return tags.DATE + value.isoformat()
    if isinstance(value, time):
        return tags.TIME + value.isoformat()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return tags.BYTES + base64.b64encode(bytes(value)).decode()
    if isinstance(value, (set, frozenset, tuple)):
        return list(value)
    if hasattr(value, "model_dump"):
        return value.model_dump()
    if isinstance(value, Mapping):
        return dict(value)
    if is_dataclass(value) and not isinstance(value, type):
        return _shown(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _careful(value: Any) -> Any:
    """The same row with every number and text that needs it tagged."""
    if isinstance(value, float):
        return value if math.isfinite(value) else tags.NUMBER + str(value)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return value if _SMALLEST <= value <= _BIGGEST else tags.DECIMAL + str(value)
    if isinstance(value, str):
        return tags.TEXT + value if value[:1] in tags.ALL and value else value
    if isinstance(value, Mapping):
        return {key: _careful(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_careful(item) for item in value]
    if hasattr(value, "model_dump"):
        return _careful(value.model_dump())
    if is_dataclass(value) and not isinstance(value, type):
        return _careful(_shown(value))
    return value


def _shown(value: Any) -> dict[str, Any]:
    """The declared fields: not what else is kept on the object, and not a field that has no value yet."""
    names = (field.name for field in fields(value) if not field.name.startswith("_"))
    return {name: getattr(value, name) for name in names if hasattr(value, name)}
