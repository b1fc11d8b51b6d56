"""Rows as JSON text with nothing but Python's own encoder: what executors have, and what odd rows need.

Everything in here may run on machines that have neither penstock nor orjson.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

from penstock.package import tags

# What the encoders take; past it a number travels as tagged text.
_MAX_INTEGER, _MIN_INTEGER = 2**64 - 1, -(2**63)
_REPLACEMENT_CHAR = "\ufffd"
# Engines stop to read beyond it.
_MAX_DEPTH = 1_000
# A text of the user's that begins like a tag, or a number that may be past 64 bits: look again.
_TAG_OR_BIG_NUMBER = re.compile(f"[{tags.FIRST}-{tags.LAST}]|[0-9]{{19}}")


def encode_text(row: Any) -> str:
    """The JSON text of a row; a row that is no object becomes `{"value": row}`. Means what `encode` means.

    >>> encode_text({"a": 1}), encode_text(7)
    ('{"a":1}', '{"value":7}')
    """
    shaped = as_object(row)
    try:
        text = _dumps(shaped)
        text.encode()
        is_plain = _has_text_keys(shaped) and not _TAG_OR_BIG_NUMBER.search(text)
    except (TypeError, ValueError, RecursionError):
        return encode_strict(shaped)
    return text if is_plain else encode_strict(shaped)


def as_object(row: Any) -> Any:
    """The row, or an object with it."""
    return row if isinstance(row, Mapping) or has_fields(row) else {"value": row}


def _has_text_keys(value: Any) -> bool:
    """Whether all keys are texts: the encoder makes one key of 1 and "1"."""
    if isinstance(value, dict):
        if not all(type(key) is str for key in value):
            return False
        value = list(value.values())
    return not isinstance(value, list) or all(
        _has_text_keys(item) for item in value if isinstance(item, (dict, list))
    )


def encode_strict(row: Any) -> str:
    """The text of a row whose every value was looked at."""
    try:
        return _dumps(tag_values(row))
    except RecursionError:
        return encode_deep(row)


def encode_deep(row: Any) -> str:
    """The same, for rows in which more is nested than encoders go down: it does not recurse."""
    pieces: list[str] = []
    depth = 0
    # What is still to be written: values, and the texts that come between them.
    todo: list[tuple[Any, bool]] = [(row, False)]
    while todo:
        found, is_text = todo.pop()
        if is_text:
            pieces.append(found)
            depth -= found in ("}", "]")
            continue
        value = _tag_value(found)
        if not isinstance(value, (dict, list)):
            pieces.append(_dumps(value))
            continue
        begin, end = ("{", "}") if isinstance(value, dict) else ("[", "]")
        depth += 1
        if depth > _MAX_DEPTH:
            raise ValueError("it is nested too deeply, or holds itself")
        pieces.append(begin)
        todo.append((end, True))
        todo.extend(reversed(list(_tokens(value))))
    return "".join(pieces)


def _tokens(value: dict[Any, Any] | list[Any]) -> Iterator[tuple[Any, bool]]:
    names = [f"{_dumps(key)}:" for key in value] if isinstance(value, dict) else []
    items = value.values() if isinstance(value, dict) else value
    for number, item in enumerate(items):
        yield ("," if number else "") + (names[number] if names else ""), True
        yield item, False


def _dumps(value: Any) -> str:
    return json.dumps(value, default=json_default, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def has_fields(row: Any) -> bool:
    """Whether it is a dataclass or a model of pydantic."""
    return (is_dataclass(row) and not isinstance(row, type)) or hasattr(row, "model_dump")


def is_numpy(value: Any) -> bool:
    """Whether it is a value or an array of numpy, which need not be installed."""
    return type(value).__module__ == "numpy"


def json_default(value: Any) -> Any:
    """What stands for a value of a type that the encoder does not know."""
    if isinstance(value, datetime):
        return _tagged_datetime(value)
    if isinstance(value, Decimal):
        return (
            (tags.DECIMAL + format(value, "f"))
            if value.is_finite()
            else tags.NON_FINITE + _non_finite_text(value)
        )
    if isinstance(value, date):
        return tags.DATE + value.isoformat()
    if isinstance(value, time):
        return tags.TIME + value.isoformat()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return tags.BYTES + base64.b64encode(bytes(value)).decode()
    if isinstance(value, (set, frozenset, tuple)):
        return list(value)
    if isinstance(value, UUID):
        return str(value)
    return _unwrap_value(value)


def _unwrap_value(value: Any) -> Any:
    """What stands inside a model, a dataclass, an enum, or a value of numpy."""
    if hasattr(value, "model_dump"):
        return value.model_dump(by_alias=True)
    if isinstance(value, Mapping):
        return dict(value)
    if is_dataclass(value) and not isinstance(value, type):
        return _dataclass_values(value)
    if is_numpy(value):
        return value.tolist()
    if isinstance(value, Enum):
        return value.value
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _tagged_datetime(value: datetime) -> str | None:
    if value != value:  # noqa: PLR0124 - only pandas' NaT, which is a datetime, differs from itself
        return None
    moment = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    return tags.DATETIME + moment.isoformat()


def _non_finite_text(value: Decimal) -> str:
    return "nan" if value.is_nan() else str(float(value))


def tag_values(value: Any) -> Any:
    """The same row with every number and text that needs it tagged."""
    found = _tag_value(value)
    if isinstance(found, dict):
        return {key: tag_values(item) for key, item in found.items()}
    return [tag_values(item) for item in found] if isinstance(found, list) else found


def _tag_value(value: Any) -> Any:
    """The same for one value; what stands in an object or a list is left as it is."""
    if isinstance(value, Enum):
        return _tag_value(value.value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else tags.NON_FINITE + str(float(value))
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        # By way of a decimal: Python writes no integer of more than 4,300 digits.
        return value if _MIN_INTEGER <= value <= _MAX_INTEGER else tags.WEI + format(Decimal(value), "f")
    if isinstance(value, str):
        text = _repair_surrogates(value)
        return tags.ESCAPED_TEXT + text if text[:1] in tags.ALL and text else text
    if isinstance(value, Mapping):
        return _with_text_keys(value)
    if isinstance(value, (list, tuple, set, frozenset)):
        return list(value)
    if has_fields(value) or is_numpy(value):
        return _tag_value(_unwrap_value(value))
    return value


def _with_text_keys(value: Mapping[Any, Any]) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for key, item in value.items():
        name = _repair_surrogates(key) if isinstance(key, str) else _key_text(key)
        while name in found:
            name = f"{name}{_REPLACEMENT_CHAR}"
        found[name] = item
    return found


def _key_text(key: Any) -> str:
    """A key that is no text, as encoders write it."""
    if isinstance(key, Enum):
        return _key_text(key.value)
    if isinstance(key, (date, time)):
        return key.isoformat()
    return str(key) if isinstance(key, (str, UUID)) else json.dumps(key)


def _repair_surrogates(text: str) -> str:
    """Halves of surrogate pairs joined; one without its other half is no character, and is replaced."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _dataclass_values(value: Any) -> dict[str, Any]:
    """The declared fields: not what else is kept on the object, and not a field that has no value yet."""
    names = (field.name for field in fields(value) if not field.name.startswith("_"))
    return {name: getattr(value, name) for name in names if hasattr(value, name)}
