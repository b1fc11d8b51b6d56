"""Rows of Spark as plain Python values: tuples, dicts, and moments that know that they are in UTC."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pyspark.sql.types import ArrayType, MapType, StructType, TimestampType

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Row
    from pyspark.sql.types import DataType

    Converter = Callable[[Any], Any]


def row_reader(schema: StructType) -> Callable[[Row], tuple[Any, ...]]:
    """What turns a row of this schema into a tuple."""
    changes = [_converter(field.dataType) for field in schema.fields]
    if not any(changes):
        return tuple

    def read(row: Row) -> tuple[Any, ...]:
        return tuple(
            value if change is None or value is None else change(value)
            for value, change in zip(row, changes, strict=True)
        )

    return read


def _converter(kind: DataType) -> Converter | None:
    match kind:
        case TimestampType():
            return _in_utc
        case StructType():
            names, read = kind.names, row_reader(kind)
            return lambda row: dict(zip(names, read(row), strict=True))
        case ArrayType():
            inner = _converter(kind.elementType)
            return None if inner is None else _list_converter(inner)
        case MapType():
            inner = _converter(kind.valueType)
            return None if inner is None else _map_converter(inner)
        case _:
            return None


def _list_converter(inner: Converter) -> Converter:
    return lambda items: [None if item is None else inner(item) for item in items]


def _map_converter(inner: Converter) -> Converter:
    return lambda pairs: {key: None if value is None else inner(value) for key, value in pairs.items()}


def _in_utc(moment: datetime) -> datetime:
    # Spark gives moments without a zone, in that of this machine's clock; an hour that comes twice is told
    # apart by its fold.
    return moment.astimezone(UTC)
