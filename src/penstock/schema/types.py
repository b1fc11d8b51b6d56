"""The eleven data types, and what each is called in Spark SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, get_args

from penstock.errors import UsageError

if TYPE_CHECKING:
    from penstock.schema.column import Column

DataType = Literal[
    "text", "double", "bool", "timestamp", "bigint", "binary", "json", "decimal", "wei", "date", "time"
]

DATA_TYPES: Final[tuple[DataType, ...]] = get_args(DataType)
ALIASES: Final[dict[str, DataType]] = {"complex": "json"}

MAX_DECIMAL_PRECISION: Final = 38
DEFAULT_DECIMAL_SCALE: Final = 9
MIN_ADJUSTED_SCALE: Final = 6
_PLAIN: Final[dict[DataType, str]] = {
    "text": "STRING",
    "json": "STRING",
    "time": "STRING",
    "double": "DOUBLE",
    "bool": "BOOLEAN",
    "binary": "BINARY",
    "date": "DATE",
}
_INTEGERS: Final = ((8, "TINYINT"), (16, "SMALLINT"), (32, "INT"))


def data_type(name: str) -> DataType:
    """Accept a type by its name or by a name it had in older schemas."""
    known = ALIASES.get(name, name)
    for candidate in DATA_TYPES:
        if candidate == known:
            return candidate
    raise UsageError(f"{name!r} is not a data type", hint=f"use one of {', '.join(DATA_TYPES)}")


def spark_type(column: Column) -> str:
    """Name the Spark SQL type that holds the column, as written in DDL.

    Spark ends at 38 digits, so a wider decimal or wei is held in 38. A precision in digits of a second has
    no meaning here: Spark's timestamps are always microseconds, and its strings have no length.
    """
    match column.data_type:
        case "bigint":
            return _integer(column.precision)
        case "decimal":
            return _decimal(column.precision, column.scale, default_scale=DEFAULT_DECIMAL_SCALE)
        case "wei":
            return _decimal(column.precision, column.scale, default_scale=0)
        case "timestamp":
            return "TIMESTAMP_NTZ" if column.timezone is False else "TIMESTAMP"
        case None:
            raise UsageError(
                f"column {column.name!r} has no type yet",
                hint="declare its data_type, or bring a value for it",
            )
        case plain:
            return _PLAIN[plain]


def _integer(precision: int | None) -> str:
    if precision is None:
        return "BIGINT"
    return next((name for bits, name in _INTEGERS if precision <= bits), "BIGINT")


def _decimal(precision: int | None, scale: int | None, *, default_scale: int) -> str:
    digits = precision or MAX_DECIMAL_PRECISION
    fraction = min(default_scale if scale is None else scale, digits)
    if digits > MAX_DECIMAL_PRECISION:
        # As in Spark's own arithmetic: whole digits matter more than the last digits of a fraction.
        room = MAX_DECIMAL_PRECISION - (digits - fraction)
        digits, fraction = MAX_DECIMAL_PRECISION, max(room, min(fraction, MIN_ADJUSTED_SCALE))
    return f"DECIMAL({digits},{fraction})"
