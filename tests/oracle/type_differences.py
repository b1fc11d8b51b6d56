"""The intended differences in types, by name: without them the types must equal those of dlt."""

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
    """Return variants: dlt converts any number but 0 to true; penstock keeps numbers other than 0 and 1."""
    return {"bool"} if kind in NUMBERS else set()


def moment_into_date(kind: DataType, value: Any) -> set[DataType]:
    """Return variants: dlt drops the time of day; penstock keeps timestamps other than midnight."""
    if kind == "timestamp":
        return {"date"}
    with suppress(ValueError):
        convert_value(value, kind, "timestamp")
        return {"date"} if kind in ("text", "bigint", "double") else set()
    return set()


def digits_into_double(kind: DataType, value: Any) -> set[DataType]:
    """Return variants: dlt rounds to the nearest double; penstock keeps more digits than a double has."""
    if kind in ("bigint", "decimal", "wei"):
        return {"double"}
    if kind == "text":
        with suppress(ValueError):
            float(value.strip())
            return {"double"}
    return set()


def whole_past_64_bits(kind: DataType, value: Any) -> set[DataType]:
    """Return variants: dlt puts integers of any size into bigint, and the load fails; penstock keeps them."""
    if kind in ("double", "decimal", "wei") and math.isfinite(value) and value == int(value):
        return {"bigint"}
    if kind == "text":
        with suppress(ValueError):
            int(value.strip())
            return {"bigint"}
    return set()


def digits_into_decimal(kind: DataType, value: Any) -> set[DataType]:
    """Return variants: dlt puts any number into decimal and wei; penstock keeps those beyond 38 digits."""
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
    """Return an observer of values like that of dlt, for the differences that are switched off."""

    def looking(value: Any) -> ValueObservation:
        seen = observe_value(value)
        if seen.type in ("null", "object", "list"):
            return seen
        kind, plain = typed_value(value)
        extra = {to for name in switched_off for to in DIFFERENCES[name](kind, plain)} - {kind}
        return seen._replace(fits=seen.fits | extra)

    return looking
