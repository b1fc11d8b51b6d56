"""Encodes rows as JSON text by Python's own encoder, for executors and for values that orjson refuses.

All of this runs on executors that may lack penstock and orjson.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

from penstock.package import tags

# The range of integers that encoders accept; others become tagged texts.
_MAX_INTEGER, _MIN_INTEGER = 2**64 - 1, -(2**63)
_REPLACEMENT_CHAR = "\ufffd"
# The nesting at which JSON readers stop.
_MAX_DEPTH = 1_000
# A text that may begin with a tag, or an integer that may exceed 64 bits: the row is encoded strictly.
_TAG_OR_BIG_NUMBER = re.compile(f"[{tags.FIRST}-{tags.LAST}]|[0-9]{{19}}")
# The types that `json_default` writes as texts.
_TEXT_TYPES = (datetime, Decimal, date, time, bytes, bytearray, memoryview, UUID)

JsonEncoder = Callable[[Any], Any]
"""Returns the JSON form of a value, or raises `TypeError`."""


class _CustomEncoder:
    """Holds the user's encoder in this process. A serialized copy is empty: executor tasks set theirs."""

    encoder: JsonEncoder | None = None

    def __reduce__(self) -> Any:
        return _CustomEncoder, ()


_custom = _CustomEncoder()


def set_custom_encoder(encoder: JsonEncoder | None) -> None:
    """Use a function for all values of this process that have no JSON form; None removes it.

    It applies to `penstock.common.json`, to rows, and to the hashes of rows at the boundary of a cursor. The
    waves of a resource with work items send it to executors; an encoder that cannot be serialized is refused
    there.
    """
    _custom.encoder = encoder


def custom_encoder() -> JsonEncoder | None:
    """Return the function that was set."""
    return _custom.encoder


def encode_custom(value: Any) -> Any:
    """Return the JSON form of a value by the user's encoder; without it raise `TypeError`."""
    if _custom.encoder is None:
        raise TypeError(f"{type(value).__name__} has no JSON form")
    return _custom.encoder(value)


def encode_text(row: Any) -> str:
    """Return the JSON text of a row, with the meaning of `encode`; a row that is no object is wrapped.

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
    """Return the row as an object: what its `asdict` returns, or wrapped as `{"value": row}`."""
    if has_asdict(row):
        return row.asdict()
    return row if isinstance(row, Mapping) or has_fields(row) else {"value": row}


def _has_text_keys(value: Any) -> bool:
    """Return whether all keys are strings: the encoder merges the keys 1 and "1"."""
    if isinstance(value, dict):
        if not all(type(key) is str for key in value):
            return False
        value = list(value.values())
    return not isinstance(value, list) or all(
        _has_text_keys(item) for item in value if isinstance(item, (dict, list))
    )


def encode_strict(row: Any) -> str:
    """Return the text of a row after every value was checked."""
    try:
        return _dumps(tag_values(row))
    except RecursionError:
        return encode_deep(row)


def encode_deep(row: Any) -> str:
    """Encode a row without recursion, for nesting beyond the limit of encoders."""
    pieces: list[str] = []
    depth = 0
    # Pending values, and the texts between them.
    todo: list[tuple[Any, bool]] = [(row, False)]
    while todo:
        token, is_text = todo.pop()
        if is_text:
            pieces.append(token)
            depth -= token in ("}", "]")
            continue
        value = _tag_value(token)
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
    """Return whether a row is a dataclass or a pydantic model."""
    return (is_dataclass(row) and not isinstance(row, type)) or hasattr(row, "model_dump")


def has_asdict(value: Any) -> bool:
    """Return whether an object returns its own plain data, as the results of a pipeline do."""
    return callable(getattr(value, "asdict", None)) and not isinstance(value, type)


def is_numpy(value: Any) -> bool:
    """Return whether a value is a scalar or an array of numpy, which may not be installed."""
    return type(value).__module__ == "numpy"


def json_default(value: Any) -> Any:
    """Return the JSON form of a value whose type the encoder does not support."""
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
    if isinstance(value, (set, frozenset, tuple)) and not has_asdict(value):
        return list(value)
    if isinstance(value, UUID):
        return str(value)
    return _unwrap_value(value)


def _unwrap_value(value: Any) -> Any:
    """Return the content of a model, a dataclass, an enum or a numpy value."""
    if has_asdict(value):
        return value.asdict()
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
    return encode_custom(value)


def _tagged_datetime(value: datetime) -> str | None:
    if value != value:  # noqa: PLR0124 - only pandas' NaT, which is a datetime, differs from itself
        return None
    timestamp = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    return tags.DATETIME + timestamp.isoformat()


def _non_finite_text(value: Decimal) -> str:
    return "nan" if value.is_nan() else str(float(value))


def tag_values(value: Any) -> Any:
    """Tag every number and text of a row that needs a tag."""
    tagged = _tag_value(value)
    if isinstance(tagged, dict):
        return {key: tag_values(item) for key, item in tagged.items()}
    return [tag_values(item) for item in tagged] if isinstance(tagged, list) else tagged


def _tag_value(value: Any) -> Any:
    """Tag one value; the content of an object or a list is unchanged."""
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
    if has_asdict(value):
        return _tag_value(value.asdict())
    if isinstance(value, (list, tuple, set, frozenset)):
        return list(value)
    if has_fields(value) or is_numpy(value):
        return _tag_value(_unwrap_value(value))
    return value if isinstance(value, _TEXT_TYPES) else _tag_value(encode_custom(value))


def _with_text_keys(value: Mapping[Any, Any]) -> dict[Any, Any]:
    result: dict[Any, Any] = {}
    for key, item in value.items():
        name = _repair_surrogates(key) if isinstance(key, str) else _key_text(key)
        while name in result:
            name = f"{name}{_REPLACEMENT_CHAR}"
        result[name] = item
    return result


def _key_text(key: Any) -> str:
    """Return the text of a key that is no string, as encoders write it."""
    if isinstance(key, Enum):
        return _key_text(key.value)
    if isinstance(key, (date, time)):
        return key.isoformat()
    return str(key) if isinstance(key, (str, UUID)) else json.dumps(key)


def _repair_surrogates(text: str) -> str:
    """Join the halves of surrogate pairs, and replace halves without the other."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _dataclass_values(value: Any) -> dict[str, Any]:
    """Return the declared public fields that have a value."""
    names = (field.name for field in fields(value) if not field.name.startswith("_"))
    return {name: getattr(value, name) for name in names if hasattr(value, name)}
