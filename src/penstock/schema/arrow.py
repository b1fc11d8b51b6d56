"""What each column is in Arrow, for rows that cross between Python and the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa

from penstock.schema.spark_types import integer_width, precision_and_scale, required_type

if TYPE_CHECKING:
    from penstock.schema.column import Column
    from penstock.schema.table import Table

_PLAIN: Final = {
    "text": pa.string(),
    "json": pa.string(),
    "double": pa.float64(),
    "bool": pa.bool_(),
    "binary": pa.binary(),
    "date": pa.date32(),
}
_INTEGERS: Final = {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}
_UNITS: Final = {0: "s", 3: "ms", 6: "us", 9: "ns"}
_MICROSECONDS: Final = 6


def arrow_type(column: Column) -> pa.DataType:
    """Give the Arrow type that holds the column.

    Digits of a second are rounded up to the next unit that Arrow has. A time of day is in microseconds.

    >>> from penstock.schema import Column
    >>> arrow_type(Column(name="at", data_type="timestamp"))
    TimestampType(timestamp[us, tz=UTC])
    """
    match required_type(column):
        case "bigint":
            return _INTEGERS[integer_width(column.precision)]
        case "decimal" | "wei":
            return pa.decimal128(*precision_and_scale(column))
        case "timestamp":
            digits = _MICROSECONDS if column.precision is None else column.precision
            unit = next((name for most, name in _UNITS.items() if digits <= most), "ns")
            return pa.timestamp(unit, tz=None if column.timezone is False else "UTC")
        case "time":
            return pa.time64("us")
        case plain:
            return _PLAIN[plain]


def arrow_schema(table: Table) -> pa.Schema:
    """Give the typed columns of a table as an Arrow schema, in order."""
    return pa.schema(
        [pa.field(c.name, arrow_type(c), nullable=c.is_nullable) for c in table.complete_columns()]
    )
