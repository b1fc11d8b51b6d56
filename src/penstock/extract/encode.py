"""A Python row becomes one line of JSON text. Types that JSON lacks carry a one-character tag."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Any

import orjson

from penstock.package import tags

_FAST = orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_NON_STR_KEYS
# The first two UTF-8 bytes that all tags share: a cheap look before a careful one.
_TAG_BYTES = tags.DECIMAL.encode()[:2]
# What the encoder takes; past it a number travels as tagged text.
_BIGGEST, _SMALLEST = 2**64 - 1, -(2**63)
_UNKNOWN = "\ufffd"


def encode(row: Any) -> bytes:
    """The JSON text of a row; a row that is no object becomes `{"value": row}`.

    >>> encode({"a": 1}), encode(7)
    (b'{"a":1}', b'{"value":7}')
    """
    shaped = row if isinstance(row, Mapping) or _has_fields(row) else {"value": row}
    try:
        text = orjson.dumps(shaped, _tagged, _FAST)
    except orjson.JSONEncodeError:
        return _encode_carefully(shaped)
    # The encoder writes NaN and Infinity as null, and lets a user's text begin like one of our tags.
    if _TAG_BYTES in text or (b"null" in text and _has_infinite(shaped)):
        return _encode_carefully(shaped)
    return text


def _encode_carefully(row: Any) -> bytes:
    try:
        plain = _careful(row)
        try:
            return orjson.dumps(plain, _tagged, _FAST)
        except orjson.JSONEncodeError as error:
            if "ecursion" not in str(error):
                # What our own function said is clearer than what the encoder made of it.
                raise error.__cause__ or error from None
            # Python's own encoder goes as deep as Spark reads, and knows what is plain by now.
            return json.dumps(plain, default=_tagged, ensure_ascii=False, separators=(",", ":")).encode()
    except RecursionError as error:
        raise ValueError("it is nested too deeply, or holds itself") from error


def _has_fields(row: Any) -> bool:
    return (is_dataclass(row) and not isinstance(row, type)) or hasattr(row, "model_dump")


def _is_numpy(value: Any) -> bool:
    return type(value).__module__ == "numpy"


def _has_infinite(value: Any) -> bool:
    if isinstance(value, float):
        return not math.isfinite(value)
    if isinstance(value, Mapping):
        return any(map(_has_infinite, value.values()))
    if isinstance(value, (list, tuple, set, frozenset)):
        return any(map(_has_infinite, value))
    return _has_fields(value) or _is_numpy(value) or isinstance(value, Enum)


def _tagged(value: Any) -> Any:
    """The encoder asks here for every type it does not know."""
    if isinstance(value, datetime):
        return _moment(value)
    if isinstance(value, Decimal):
        return (tags.DECIMAL + format(value, "f")) if value.is_finite() else tags.NUMBER + _no_number(value)
    if isinstance(value, date):
        return tags.DATE + value.isoformat()
    if isinstance(value, time):
        return tags.TIME + value.isoformat()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return tags.BYTES + base64.b64encode(bytes(value)).decode()
    if isinstance(value, (set, frozenset, tuple)):
        return list(value)
    return _opened(value)


def _opened(value: Any) -> Any:
    """What stands inside a model, a dataclass, or a value of numpy."""
    if hasattr(value, "model_dump"):
        return value.model_dump(by_alias=True)
    if isinstance(value, Mapping):
        return dict(value)
    if is_dataclass(value) and not isinstance(value, type):
        return _shown(value)
    if _is_numpy(value):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _moment(value: datetime) -> str | None:
    if value != value:  # noqa: PLR0124 - only pandas' NaT, which is a datetime, differs from itself
        return None
    moment = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    return tags.DATETIME + moment.isoformat()


def _no_number(value: Decimal) -> str:
    return "nan" if value.is_nan() else str(float(value))


def _careful(value: Any) -> Any:
    """The same row with every number and text that needs it tagged."""
    if isinstance(value, Enum):
        return _careful(value.value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else tags.NUMBER + str(float(value))
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        # By way of a decimal: Python writes no integer of more than 4,300 digits.
        return value if _SMALLEST <= value <= _BIGGEST else tags.DECIMAL + format(Decimal(value), "f")
    if isinstance(value, str):
        text = _readable(value)
        return tags.TEXT + text if text[:1] in tags.ALL and text else text
    if isinstance(value, Mapping):
        return _careful_mapping(value)
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_careful(item) for item in value]
    if _has_fields(value) or _is_numpy(value):
        return _careful(_opened(value))
    return value


def _careful_mapping(value: Mapping[Any, Any]) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for key, item in value.items():
        name = _readable(key) if isinstance(key, str) else key
        while name in found:
            name = f"{name}{_UNKNOWN}"
        found[name] = _careful(item)
    return found


def _readable(text: str) -> str:
    """Halves of surrogate pairs joined; one without its other half is no character, and is replaced."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _shown(value: Any) -> dict[str, Any]:
    """The declared fields: not what else is kept on the object, and not a field that has no value yet."""
    names = (field.name for field in fields(value) if not field.name.startswith("_"))
    return {name: getattr(value, name) for name in names if hasattr(value, name)}
