"""Lossless conversions of values between data types.

A conversion that would lose information, or whose result a column cannot hold, fails. The value then goes to
a variant column.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import string
from datetime import UTC, date, datetime, time, timedelta
from decimal import Context, Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, Final

import orjson

from penstock.schema.iso import parse_date_or_datetime, parse_time
from penstock.schema.types import DATA_TYPES, DEFAULT_DECIMAL_SCALE, MAX_DECIMAL_PRECISION, DataType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SMALLEST_BIGINT: Final = -(2**63)
LARGEST_BIGINT: Final = 2**63 - 1
PLAIN_TEXT_INITIALS: Final = frozenset(string.ascii_letters) - set("tTfFyYnNiI")
"""Initials of texts that are no number, timestamp, boolean or document, as most texts are."""
_WHOLE_DIGITS: Final = MAX_DECIMAL_PRECISION - DEFAULT_DECIMAL_SCALE
_TRUE: Final = frozenset(("yes", "true", "t", "y", "1"))
_FALSE: Final = frozenset(("no", "false", "f", "n", "0"))
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_HEX_BASE: Final = 16
_WIDE_CONTEXT: Final = Context(prec=10_000)


def convert_value(value: Any, from_type: DataType, to_type: DataType) -> Any:
    """Return the value as a column of `to_type` holds it; raise `ValueError` if that is impossible.

    >>> convert_value("0x1F", "text", "bigint"), convert_value(3.0, "double", "bigint")
    (31, 3)
    """
    if from_type == to_type:
        return value
    conversion = _CONVERSIONS.get((to_type, from_type))
    if conversion is None:
        raise ValueError(f"{from_type} does not convert to {to_type}")
    try:
        return conversion(value)
    except (OverflowError, InvalidOperation) as error:
        raise ValueError(str(error)) from error


def is_always_convertible(from_type: DataType, to_type: DataType) -> bool:
    """Return whether every value of `from_type` fits a column of `to_type`."""
    return to_type in (from_type, "text") or (to_type, from_type) == ("timestamp", "date")


def fitting_types(value: Any, from_type: DataType) -> frozenset[DataType]:
    """Return the other types that a value fits."""
    targets = (
        _PLAIN_TEXT_TARGETS
        if from_type == "text" and value[:1] in PLAIN_TEXT_INITIALS
        else _TARGETS[from_type]
    )
    return frozenset(to for to in targets if _is_convertible(value, from_type, to))


def fits_decimal(value: Decimal) -> bool:
    """Return whether a decimal column of default precision holds the value exactly."""
    if not value.is_finite():
        return False
    if not value:
        return True
    plain = value.normalize(_WIDE_CONTEXT)
    _, digits, exponent = plain.as_tuple()
    if not isinstance(exponent, int):  # infinity or NaN
        return False
    return -exponent <= DEFAULT_DECIMAL_SCALE and len(digits) + exponent <= _WHOLE_DIGITS


def _is_convertible(value: Any, from_type: DataType, to_type: DataType) -> bool:
    try:
        convert_value(value, from_type, to_type)
    except ValueError:
        return False
    return True


def _bigint_from_text(text: str) -> int:
    trimmed = text.strip()
    return _require_bigint(_parse_hex(trimmed) if trimmed.startswith("0x") else int(trimmed))


def _bigint_from_number(value: float | Decimal) -> int:
    integer = int(value)
    if integer != value:
        raise ValueError(value)
    return _require_bigint(integer)


def _require_bigint(value: int) -> int:
    if not SMALLEST_BIGINT <= value <= LARGEST_BIGINT:
        raise ValueError(value)
    return value


def _double_from_text(text: str) -> float:
    trimmed = text.strip()
    if trimmed.startswith("0x"):
        return _exact_double(Decimal(_parse_hex(trimmed)))
    value = float(trimmed)
    return _exact_double(Decimal(trimmed)) if math.isfinite(value) else _require_no_overflow(value, trimmed)


def _require_no_overflow(value: float, text: str) -> float:
    if math.isinf(value) and any(character.isdigit() for character in text):
        raise ValueError(text)
    return value


def _exact_double(value: Decimal) -> float:
    """Return the double with the same digits; `0.1` has one, 2**53 + 1 raises `ValueError`."""
    nearest = float(value)
    if math.isinf(nearest) or Decimal(repr(nearest)) != value:
        raise ValueError(value)
    return nearest


def _decimal_from_text(text: str) -> Decimal:
    trimmed = text.strip()
    return Decimal(_parse_hex(trimmed) if trimmed.startswith("0x") else trimmed)


def _parse_hex(text: str) -> int:
    return int(text.removeprefix("0x"), _HEX_BASE)


def _require_decimal(value: Decimal) -> Decimal:
    if not fits_decimal(value):
        raise ValueError(value)
    return value


def _require_wei(value: Decimal) -> Decimal:
    is_whole = value.is_finite() and value == value.to_integral_value(context=_WIDE_CONTEXT)
    if not is_whole or value.adjusted() >= MAX_DECIMAL_PRECISION:
        raise ValueError(value)
    return value


def _bool_from_text(text: str) -> bool:
    word = text.lower()
    if word not in _TRUE and word not in _FALSE:
        raise ValueError(text)
    return word in _TRUE


def _bool_from_number(value: float | Decimal) -> bool:
    if value not in (0, 1):
        raise ValueError(value)
    return bool(value)


def _timestamp_from_epoch(seconds: float) -> datetime:
    if not math.isfinite(seconds):
        raise ValueError(seconds)
    return _EPOCH + timedelta(seconds=seconds)


def _timestamp_from_date(day: date) -> datetime:
    return datetime.combine(day, time(), tzinfo=UTC)


def _timestamp_from_text(text: str) -> datetime:
    moment = parse_date_or_datetime(text)
    match moment:
        case datetime(tzinfo=None):
            return moment.replace(tzinfo=UTC)
        case datetime():
            return moment.astimezone(UTC)
        case date():
            return _timestamp_from_date(moment)
        case None:
            return _timestamp_from_epoch(float(text))


def _date_from_timestamp(moment: datetime) -> date:
    in_utc = moment.astimezone(UTC) if moment.tzinfo else moment
    if in_utc.time() != time():
        raise ValueError(moment)
    return in_utc.date()


def _time_from_text(text: str) -> time:
    parsed = parse_time(text)
    if parsed is None:
        raise ValueError(text)
    return parsed


def _binary_from_text(text: str) -> bytes:
    if text.startswith("0x"):
        return bytes.fromhex(text[2:])
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(text) from error


def _binary_from_bigint(value: int) -> bytes:
    return value.to_bytes((value.bit_length() + 7) // 8, "little")


def _text_from_temporal(value: datetime | date | time) -> str:
    return value.isoformat()


_CONVERSIONS: Final[Mapping[tuple[DataType, DataType], Callable[[Any], Any]]] = {
    ("text", "bigint"): str,
    ("text", "double"): str,
    ("text", "decimal"): lambda value: format(value, "f"),
    ("text", "wei"): lambda value: format(value, "f"),
    ("text", "bool"): str,
    ("text", "binary"): lambda value: base64.b64encode(value).decode("ascii"),
    ("text", "timestamp"): _text_from_temporal,
    ("text", "date"): _text_from_temporal,
    ("text", "time"): _text_from_temporal,
    ("text", "json"): lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":")),
    ("bigint", "text"): _bigint_from_text,
    ("bigint", "double"): _bigint_from_number,
    ("bigint", "decimal"): _bigint_from_number,
    ("bigint", "wei"): _bigint_from_number,
    ("double", "text"): _double_from_text,
    ("double", "bigint"): lambda value: _exact_double(Decimal(value)),
    ("double", "decimal"): _exact_double,
    ("double", "wei"): _exact_double,
    ("decimal", "text"): lambda text: _require_decimal(_decimal_from_text(text)),
    ("decimal", "bigint"): Decimal,
    ("decimal", "double"): lambda value: _require_decimal(Decimal(repr(value))),
    ("decimal", "wei"): _require_decimal,
    ("wei", "text"): lambda text: _require_wei(_decimal_from_text(text)),
    ("wei", "bigint"): Decimal,
    ("wei", "double"): lambda value: _require_wei(Decimal(repr(value))),
    ("wei", "decimal"): _require_wei,
    ("bool", "text"): _bool_from_text,
    ("bool", "bigint"): _bool_from_number,
    ("bool", "double"): _bool_from_number,
    ("bool", "decimal"): _bool_from_number,
    ("bool", "wei"): _bool_from_number,
    ("timestamp", "text"): _timestamp_from_text,
    ("timestamp", "bigint"): _timestamp_from_epoch,
    ("timestamp", "double"): _timestamp_from_epoch,
    ("timestamp", "date"): _timestamp_from_date,
    ("date", "text"): lambda text: _date_from_timestamp(_timestamp_from_text(text)),
    ("date", "timestamp"): _date_from_timestamp,
    ("date", "bigint"): lambda value: _date_from_timestamp(_timestamp_from_epoch(value)),
    ("date", "double"): lambda value: _date_from_timestamp(_timestamp_from_epoch(value)),
    ("time", "text"): _time_from_text,
    ("binary", "text"): _binary_from_text,
    ("binary", "bigint"): _binary_from_bigint,
    ("json", "text"): orjson.loads,
}
_TARGETS: Final[Mapping[DataType, tuple[DataType, ...]]] = {
    kind: tuple(to for to, seen in _CONVERSIONS if seen == kind) for kind in DATA_TYPES
}
_PLAIN_TEXT_TARGETS: Final[tuple[DataType, ...]] = ("binary",)
