"""Observations of single values: type, other fitting types, and matching detectors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, get_args
from uuid import UUID

from penstock.schema.convert import (
    LARGEST_BIGINT,
    PLAIN_TEXT_INITIALS,
    SMALLEST_BIGINT,
    convert_value,
    fits_decimal,
    fitting_types,
)
from penstock.schema.iso import parse_date_or_datetime
from penstock.schema.types import MAX_DECIMAL_PRECISION, DataType

if TYPE_CHECKING:
    from collections.abc import Iterable

ObservedType = DataType | Literal["object", "list", "null"]
Detection = Literal[
    "timestamp", "iso_timestamp", "iso_date", "large_integer", "hexbytes_to_text", "wei_to_double"
]
_NUMBER_TYPES: Final = frozenset((bool, int, float))
NO_TYPES: Final = frozenset[DataType]()
DETECTIONS: Final[tuple[Detection, ...]] = get_args(Detection)
NO_DETECTIONS: Final = frozenset[Detection]()

_DECIMAL_LIMIT: Final = 10**MAX_DECIMAL_PRECISION
# In this order: a bool is an int, and a datetime is a date.
_PYTHON_TYPES: Final[tuple[tuple[type, DataType], ...]] = (
    (bool, "bool"),
    (float, "double"),
    (datetime, "timestamp"),
    (date, "date"),
    (time, "time"),
    (bytes, "binary"),
    (dict, "json"),
    (list, "json"),
)
_FIVE_YEARS: Final = timedelta(days=5 * 365)
_DETECTED_TYPE: Final[Mapping[Detection, DataType]] = {
    "timestamp": "timestamp",
    "iso_timestamp": "timestamp",
    "iso_date": "date",
    "large_integer": "wei",
    "hexbytes_to_text": "text",
    "wei_to_double": "double",
}


class ValueObservation(NamedTuple):
    """The properties of one value."""

    type: ObservedType
    fits: frozenset[DataType] = NO_TYPES
    detected: frozenset[Detection] = NO_DETECTIONS
    length: int = 0
    """Characters of a text; digits of a second for a timestamp."""


_WEI_DETECTIONS: Final = frozenset[Detection](("large_integer", "wei_to_double"))
_NULL: Final = ValueObservation("null")
_OBJECT: Final = ValueObservation("object")
_LIST: Final = ValueObservation("list")


def observe_value(value: Any, *, now: datetime | None = None) -> ValueObservation:
    """Return the observation of a value; `now` is the reference of the `timestamp` detector.

    >>> observe_value("2024-01-02T03:04Z").type, sorted(observe_value("2024-01-02T03:04Z").detected)
    ('text', ['iso_timestamp'])
    >>> observe_value(2**64).type, observe_value(float("nan")).type, observe_value([1]).type
    ('wei', 'double', 'list')
    """
    if value is None:
        return _NULL
    kind = type(value)
    if kind is str:
        return _observe_text(value)
    if now is None and kind in _NUMBER_TYPES:
        return _observe_number(value)
    if isinstance(value, Mapping):
        return _OBJECT
    if isinstance(value, list | tuple | set | frozenset):
        return _LIST
    return _observe_scalar(value, now)


def _observe_scalar(value: Any, now: datetime | None) -> ValueObservation:
    kind, plain = typed_value(value)
    if kind == "text":
        return _observe_text(plain)
    return ValueObservation(kind, fitting_types(plain, kind), _detections(plain, kind, now), _length(plain))


# Typed: `True`, `1` and `1.0` differ.
@lru_cache(maxsize=16_384, typed=True)
def _observe_number(value: float) -> ValueObservation:
    return _observe_scalar(value, None)


def typed_value(value: Any) -> tuple[DataType, Any]:
    """Return the type of a scalar, and the value in the representation of that type.

    An integer is `bigint` up to 64 bits, `wei` up to 38 digits, and else `text`, like a decimal with more
    digits than a column. Nothing is rounded.
    """
    simple = next((kind for python_type, kind in _PYTHON_TYPES if isinstance(value, python_type)), None)
    if simple is not None:
        return simple, value
    match value:
        case Enum():
            return typed_value(value.value)
        case str():
            return "text", str(value)
        case int() if SMALLEST_BIGINT <= value <= LARGEST_BIGINT:
            return "bigint", value
        case int():
            return (
                ("wei", Decimal(value))
                if abs(value) < _DECIMAL_LIMIT
                else ("text", format(Decimal(value), "f"))
            )
        case Decimal():
            return _typed_decimal(value)
        case bytearray() | memoryview():
            return "binary", bytes(value)
        case UUID():
            return "text", str(value)
        case _:
            raise TypeError(f"{type(value).__name__} is not a type of values in rows")


def _typed_decimal(value: Decimal) -> tuple[DataType, Any]:
    if not value.is_finite():
        return "double", math.nan if value.is_nan() else float(value)
    return ("decimal", value) if fits_decimal(value) else ("text", format(value, "f"))


def detected_type(
    detected: frozenset[Detection], observed: DataType, detections: Iterable[Detection]
) -> DataType:
    """Return the type of the first active detector that matches, else the observed type."""
    if not detected:
        return observed
    return next((_DETECTED_TYPE[name] for name in detections if name in detected), observed)


# Texts repeat, and each costs a dozen conversions.
@lru_cache(maxsize=16_384)
def _observe_text(text: str) -> ValueObservation:
    moment = None if text[:1] in PLAIN_TEXT_INITIALS else parse_date_or_datetime(text)
    detected: frozenset[Detection] = NO_DETECTIONS
    if isinstance(moment, datetime):
        detected = frozenset(("iso_timestamp",)) if _is_utc_timestamp(text) else detected
    elif moment is not None:
        detected = frozenset(("iso_date",))
    return ValueObservation("text", fitting_types(text, "text"), detected, len(text))


def _is_utc_timestamp(text: str) -> bool:
    """Return whether the text is a timestamp in UTC too, which the first hour of year 1 may not be."""
    try:
        convert_value(text, "text", "timestamp")
    except ValueError:
        return False
    return True


def _detections(value: Any, kind: DataType, now: datetime | None) -> frozenset[Detection]:
    if kind == "wei":
        return _WEI_DETECTIONS
    if now is not None and kind in ("bigint", "double"):
        seconds = now.timestamp()
        if abs(value - seconds) <= _FIVE_YEARS.total_seconds():
            return frozenset(("timestamp",))
    return NO_DETECTIONS


def _length(value: Any) -> int:
    if isinstance(value, datetime):
        return len(f"{value.microsecond:06d}".rstrip("0"))
    return 0
