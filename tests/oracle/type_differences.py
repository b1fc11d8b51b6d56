"""The intended differences in types, by name: switched off one by one, what is left must equal dlt."""

from __future__ import annotations

import math
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from penstock.schema.convert import convert_value
from penstock.schema.observation import ValueObservation, observe_value, typed_value

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.schema import DataType

NUMBERS = ("bigint", "double", "decimal", "wei")


def number_into_bool(kind: DataType, _: Any) -> set[DataType]:
    """dlt takes any number but 0 for true; we keep what is neither 0 nor 1."""
    return {"bool"} if kind in NUMBERS else set()


def moment_into_date(kind: DataType, value: Any) -> set[DataType]:
    """dlt cuts the time of day off; we keep a moment that is not midnight."""
    if kind == "timestamp":
        return {"date"}
    with suppress(ValueError):
        convert_value(value, kind, "timestamp")
        return {"date"} if kind in ("text", "bigint", "double") else set()
    return set()


def digits_into_double(kind: DataType, value: Any) -> set[DataType]:
    """dlt rounds to the nearest double; we keep digits that a double does not have."""
    if kind in ("bigint", "decimal", "wei"):
        return {"double"}
    if kind == "text":
        with suppress(ValueError):
            float(value.strip())
            return {"double"}
    return set()


def whole_past_64_bits(kind: DataType, value: Any) -> set[DataType]:
    """dlt takes whole numbers of any size into bigint, and the load fails; we keep them beside."""
    if kind in ("double", "decimal", "wei") and math.isfinite(value) and value == int(value):
        return {"bigint"}
    if kind == "text":
        with suppress(ValueError):
            int(value.strip())
            return {"bigint"}
    return set()


def digits_into_decimal(kind: DataType, value: Any) -> set[DataType]:
    """dlt takes numbers of any size and fraction into decimal and wei; we keep what 38 digits do not hold."""
    if kind in ("double", "decimal", "wei"):
        return {"decimal", "wei"}
    if kind == "text":
        with suppress(ValueError, InvalidOperation):
            Decimal(value.strip())
            return {"decimal", "wei"}
    return set()


DIFFERENCES: dict[str, Callable[[Any, Any], set[DataType]]] = {
    "number-into-bool": number_into_bool,
    "moment-into-date": moment_into_date,
    "digits-into-double": digits_into_double,
    "whole-past-64-bits": whole_past_64_bits,
    "digits-into-decimal": digits_into_decimal,
}


def look_without(*switched_off: str) -> Callable[[Any], ValueObservation]:
    """Look at values as dlt would, as far as the differences are switched off."""

    def looking(value: Any) -> ValueObservation:
        seen = observe_value(value)
        if seen.type in ("null", "object", "list"):
            return seen
        kind, plain = typed_value(value)
        extra = {to for name in switched_off for to in DIFFERENCES[name](kind, plain)} - {kind}
        return seen._replace(fits=seen.fits | extra)

    return looking
