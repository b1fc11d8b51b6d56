"""From what was seen to a column's type, and from a type to the way its values are brought into it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, assert_never

from penstock.normalize.kinds import Seen
from penstock.schema import spark_type
from penstock.schema.sparktypes import decimal_digits
from penstock.schema.types import DEFAULT_DECIMAL_SCALE, MAX_DECIMAL_PRECISION

if TYPE_CHECKING:
    from penstock.normalize.tree import Kind, Leaf, TypedValue
    from penstock.package.projection import Conversion
    from penstock.schema import Column, DataType

_DIGITS_OF_BIGINT = 19


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """The type in which a path arrives in this package, and how to get there from the nested dataset."""

    data_type: DataType
    conversion: Conversion = "as_is"
    tagged: bool = False
    precision: int | None = None
    scale: int | None = None


def arrival(leaf: Leaf, seen: Seen) -> Arrival:
    """Decide one type for all values of a path in this package; text or JSON keeps what does not agree."""
    return _found_arrival(leaf.kind, seen) if leaf.typed is None else _typed_arrival(leaf.typed)


def _found_arrival(kind: Kind, seen: Seen) -> Arrival:
    match kind:
        case "bool":
            return Arrival(data_type="bool")
        case "bigint" | "void":
            return Arrival(data_type="bigint")
        case "double":
            return Arrival(data_type="double")
        case "wide" if seen & Seen.LARGE:
            return Arrival(data_type="decimal", precision=38, scale=0)
        case "wide":
            return Arrival(data_type="bigint")
        case "mixed" if seen and not seen & ~(Seen.WHOLE | Seen.NUMBER):
            return Arrival(data_type="double", conversion="number")
        case "mixed" if seen and not seen & ~(Seen.WHOLE | Seen.DECIMAL):
            return Arrival(data_type="decimal", conversion="number")
        case "mixed":
            return Arrival(data_type="json", conversion="json")
        case "text" | "typed":
            return _text_arrival(seen)
        case _:
            assert_never(kind)


def _typed_arrival(value: TypedValue) -> Arrival:
    has_parts = value.data_type == "json" and value.sql != "STRING"
    return Arrival(
        data_type=value.data_type,
        conversion="document" if has_parts else "as_is",
        precision=value.precision,
        scale=value.scale,
    )


def _text_arrival(seen: Seen) -> Arrival:
    tagged = bool(seen & Seen.TAGGED)
    match seen & ~Seen.TAGGED:
        case Seen.TIMESTAMP:
            return Arrival(data_type="timestamp", conversion="parse", tagged=tagged)
        case Seen.DECIMAL:
            return Arrival(data_type="decimal", conversion="parse", tagged=tagged)
        case Seen.DATE:
            return Arrival(data_type="date", conversion="parse", tagged=tagged)
        case Seen.NUMBER:
            return Arrival(data_type="double", conversion="parse", tagged=tagged)
        case Seen.BINARY:
            return Arrival(data_type="binary", conversion="binary", tagged=tagged)
        case Seen.TIME:
            return Arrival(data_type="time", conversion="text", tagged=tagged)
        case _:
            return Arrival(data_type="text", conversion="text", tagged=tagged)


# Values that a column of another type takes without loss.
_ACCEPTS: dict[tuple[DataType, DataType], Conversion] = {
    ("text", "timestamp"): "text",
    ("text", "date"): "text",
    ("text", "decimal"): "text",
    ("text", "time"): "text",
    ("text", "bigint"): "as_is",
    ("double", "bigint"): "as_is",
    ("decimal", "bigint"): "as_is",
}


def into(column: Column, arriving: Arrival) -> Conversion | None:
    """How arriving values enter a column that exists; None when they need a column of their own."""
    if column.data_type is None or not _fits(column, arriving):
        return None
    if column.data_type == arriving.data_type:
        return arriving.conversion
    accepted = _ACCEPTS.get((column.data_type, arriving.data_type))
    # A mixed value is read as text on its way, and only there its tag is taken off.
    return "number" if accepted and arriving.conversion == "number" else accepted


def _fits(column: Column, arriving: Arrival) -> bool:
    """Whether no digit is lost: other digits are rounded silently, or refused when they are loaded."""
    if column.data_type == "bigint":
        return spark_type(column) == "BIGINT"
    if column.data_type != "decimal":
        return True
    if arriving.data_type == "decimal":
        arrived = replace(column, precision=arriving.precision, scale=arriving.scale)
        (digits, fraction), (needs, scale) = decimal_digits(column), decimal_digits(arrived)
        return fraction >= scale and digits - fraction >= needs - scale
    scale = DEFAULT_DECIMAL_SCALE if column.scale is None else column.scale
    return (column.precision or MAX_DECIMAL_PRECISION) - scale >= _DIGITS_OF_BIGINT
