"""Brings rows to this machine: the only file of the room that starts jobs."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql.types import ArrayType, MapType, StructType, TimestampType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, Row
    from pyspark.sql.types import DataType

    Converter = Callable[[Any], Any]


# In the words of Spark, Delta and Iceberg, by whichever way they come: a file, a version, a rule about age.
_MISSING_VERSION_MARKERS: Final = (
    *("FILE_NOT_EXIST", "FILE_NOT_FOUND", "FileNotFoundException"),
    *("VERSION_NOT_FOUND", "VERSIONS_NOT_CONTIGUOUS", "TRUNCATED_TRANSACTION_LOG"),
    *("TIME_TRAVEL_BEYOND", "Cannot find snapshot"),
)


def all_rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    """All rows."""
    return list(map(row_reader(frame.schema), frame.collect()))


def first_rows(frame: DataFrame, limit: int) -> list[tuple[Any, ...]]:
    """The first rows; no more than these are read where Spark can do with less."""
    return list(map(row_reader(frame.schema), frame.take(limit)))


def iter_rows(frame: DataFrame) -> Iterator[tuple[Any, ...]]:
    """Row by row; one partition of the frame is on this machine at a time."""
    yield from map(row_reader(frame.schema), frame.toLocalIterator())


def arrow_table(frame: DataFrame) -> pa.Table:
    """All rows as Arrow, moments in UTC whatever the session's zone is."""
    table = frame.toArrow()
    for place, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type) and field.type.tz not in {None, "UTC"}:
            moments = table.column(place).cast(pa.timestamp(field.type.unit, "UTC"))
            table = table.set_column(place, field.with_type(moments.type), moments)
    return table


def count_rows(frame: DataFrame) -> int:
    """How many rows there are."""
    return frame.count()


def is_missing_version(error: Exception) -> bool:
    """Whether files or versions were asked for that are not there any more."""
    told = str(error)
    return any(word in told for word in _MISSING_VERSION_MARKERS)


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
