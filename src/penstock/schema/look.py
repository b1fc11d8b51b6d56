"""What one value is: its type, the other types it fits, and what the detectors take it for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple
from uuid import UUID

from penstock.schema.convert import (
    LARGEST_BIGINT,
    ORDINARY,
    SMALLEST_BIGINT,
    converted,
    fits_decimal,
    fitting,
)
from penstock.schema.iso import parse_moment
from penstock.schema.types import MAX_DECIMAL_PRECISION, DataType

if TYPE_CHECKING:
    from collections.abc import Iterable

SeenType = DataType | Literal["object", "list", "null"]
Detection = Literal[
    "timestamp", "iso_timestamp", "iso_date", "large_integer", "hexbytes_to_text", "wei_to_double"
]
_NUMBERS: Final = frozenset((bool, int, float))
NOTHING_FITS: Final = frozenset[DataType]()
NOTHING_DETECTED: Final = frozenset[Detection]()

_TOO_WIDE: Final = 10**MAX_DECIMAL_PRECISION
# In this order: a bool is an int, and a datetime is a date.
_SIMPLE: Final[tuple[tuple[type, DataType], ...]] = (
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


class Look(NamedTuple):
    """One value, looked at."""

    type: SeenType
    fits: frozenset[DataType] = NOTHING_FITS
    detected: frozenset[Detection] = NOTHING_DETECTED
    length: int = 0
    """Characters of a text, and digits of a second for a timestamp."""


_BIG: Final = frozenset[Detection](("large_integer", "wei_to_double"))
_NULL: Final = Look("null")
_OBJECT: Final = Look("object")
_LIST: Final = Look("list")


def look(value: Any, *, now: datetime | None = None) -> Look:
    """Say what a value is; `now` is what the `timestamp` detector measures by.

    >>> look("2024-01-02T03:04Z").type, sorted(look("2024-01-02T03:04Z").detected)
    ('text', ['iso_timestamp'])
    >>> look(2**64).type, look(float("nan")).type, look([1]).type
    ('wei', 'double', 'list')
    """
    if value is None:
        return _NULL
    kind = type(value)
    if kind is str:
        return _look_at_text(value)
    if now is None and kind in _NUMBERS:
        return _look_at_number(value)
    if isinstance(value, Mapping):
        return _OBJECT
    if isinstance(value, list | tuple | set | frozenset):
        return _LIST
    return _look_at_plain(value, now)


def _look_at_plain(value: Any, now: datetime | None) -> Look:
    kind, plain = typed(value)
    if kind == "text":
        return _look_at_text(plain)
    return Look(kind, fitting(plain, kind), _detected(plain, kind, now), _length(plain))


# By type too: `True` is no `1`, and `1.0` neither.
@lru_cache(maxsize=16_384, typed=True)
def _look_at_number(value: float) -> Look:
    return _look_at_plain(value, None)


def typed(value: Any) -> tuple[DataType, Any]:
    """Give the type of a value that is no container, and the value as that type holds it.

    A whole number is `bigint` in 64 bits, `wei` up to 38 digits, and beyond that the text of its digits; text
    is also a decimal that has more digits than a column. Nothing is rounded.
    """
    simple = next((kind for python_type, kind in _SIMPLE if isinstance(value, python_type)), None)
    if simple is not None:
        return simple, value
    match value:
        case Enum():
            return typed(value.value)
        case str():
            return "text", str(value)
        case int() if SMALLEST_BIGINT <= value <= LARGEST_BIGINT:
            return "bigint", value
        case int():
            return (
                ("wei", Decimal(value)) if abs(value) < _TOO_WIDE else ("text", format(Decimal(value), "f"))
            )
        case Decimal():
            return _typed_decimal(value)
        case bytearray() | memoryview():
            return "binary", bytes(value)
        case UUID():
            return "text", str(value)
        case _:
            raise TypeError(f"{type(value).__name__} is no value of a row")


def _typed_decimal(value: Decimal) -> tuple[DataType, Any]:
    if not value.is_finite():
        return "double", math.nan if value.is_nan() else float(value)
    return ("decimal", value) if fits_decimal(value) else ("text", format(value, "f"))


def detected_type(
    detected: frozenset[Detection], seen: DataType, detections: Iterable[Detection]
) -> DataType:
    """Give the type that the first active detector found, else the type that was seen."""
    if not detected:
        return seen
    return next((_DETECTED_TYPE[name] for name in detections if name in detected), seen)


# Texts repeat, and each costs a dozen trials.
@lru_cache(maxsize=16_384)
def _look_at_text(text: str) -> Look:
    moment = None if text[:1] in ORDINARY else parse_moment(text)
    detected: frozenset[Detection] = NOTHING_DETECTED
    if isinstance(moment, datetime):
        detected = frozenset(("iso_timestamp",)) if _is_moment(text) else detected
    elif moment is not None:
        detected = frozenset(("iso_date",))
    return Look("text", fitting(text, "text"), detected, len(text))


def _is_moment(text: str) -> bool:
    """Whether it is also one in UTC: the first hour of the year 1 with a zone east of it is not."""
    try:
        converted(text, "text", "timestamp")
    except ValueError:
        return False
    return True


def _detected(value: Any, kind: DataType, now: datetime | None) -> frozenset[Detection]:
    if kind == "wei":
        return _BIG
    if now is not None and kind in ("bigint", "double"):
        seconds = now.timestamp()
        if abs(value - seconds) <= _FIVE_YEARS.total_seconds():
            return frozenset(("timestamp",))
    return NOTHING_DETECTED


def _length(value: Any) -> int:
    if isinstance(value, datetime):
        return len(f"{value.microsecond:06d}".rstrip("0"))
    return 0
