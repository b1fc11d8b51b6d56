"""Collection of rows on the driver, as Python values: the only module of the package that starts jobs."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.errors import PySparkTypeError
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import ArrayType, MapType, StructType, TimestampType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, Row
    from pyspark.sql.types import DataType

    Converter = Callable[[Any], Any]


# Errors of Spark, Delta and Iceberg about a missing file, a missing version, or the retention of versions.
_MISSING_VERSION_MARKERS: Final = (
    *("FILE_NOT_EXIST", "FILE_NOT_FOUND", "FileNotFoundException"),
    *("VERSION_NOT_FOUND", "VERSIONS_NOT_CONTIGUOUS", "TRUNCATED_TRANSACTION_LOG"),
    *("TIME_TRAVEL_BEYOND", "Cannot find snapshot"),
)


def all_rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    """Return all rows."""
    return list(map(row_reader(frame.schema), frame.collect()))


def first_rows(frame: DataFrame, limit: int) -> list[tuple[Any, ...]]:
    """Return the first rows; Spark reads no more than it needs."""
    return list(map(row_reader(frame.schema), frame.take(limit)))


def iter_rows(frame: DataFrame) -> Iterator[tuple[Any, ...]]:
    """Yield rows; the driver holds one partition at a time."""
    yield from map(row_reader(frame.schema), frame.toLocalIterator())


def arrow_table(frame: DataFrame) -> pa.Table:
    """Return all rows as Arrow, with timestamps in UTC whatever the session's time zone is."""
    table = frame.toArrow()
    for index, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type) and field.type.tz not in {None, "UTC"}:
            timestamps = table.column(index).cast(pa.timestamp(field.type.unit, "UTC"))
            table = table.set_column(index, field.with_type(timestamps.type), timestamps)
    return table


def arrow_rows(table: pa.Table) -> list[tuple[Any, ...]]:
    """Return the rows of an Arrow table of single values, as `all_rows` returns those of a frame.

    >>> arrow_rows(pa.table({"id": [1, 2], "name": ["a", None]}))
    [(1, 'a'), (2, None)]
    """
    columns = [_arrow_values(column) for column in table.columns]
    return list(zip(*columns, strict=True)) if columns else [()] * table.num_rows


def arrow_column_types(table: pa.Table) -> list[tuple[str, str, bool]]:
    """Return the name of each column, its type in Spark SQL, and whether it accepts nulls.

    >>> arrow_column_types(pa.table({"id": [1], "at": pa.array([None], pa.timestamp("us", "UTC"))}))
    [('id', 'bigint', True), ('at', 'timestamp', True)]
    """
    return [(field.name, _spark_type(field.type), field.nullable) for field in table.schema]


def _spark_type(kind: pa.DataType) -> str:
    if pa.types.is_timestamp(kind):
        return "timestamp_ntz" if kind.tz is None else "timestamp"
    try:
        return from_arrow_type(kind).simpleString()
    except PySparkTypeError:  # such as a time without a date
        return "string"


def _arrow_values(column: pa.ChunkedArray) -> list[Any]:
    values: list[Any] = column.to_pylist()
    if pa.types.is_timestamp(column.type) and column.type.tz is not None:
        return [None if value is None else _in_utc(value) for value in values]
    return values


def count_rows(frame: DataFrame) -> int:
    """Return the number of rows."""
    return frame.count()


def is_missing_version(error: Exception) -> bool:
    """Return whether a read failed because a file or a version does not exist any more."""
    message = str(error)
    return any(marker in message for marker in _MISSING_VERSION_MARKERS)


def row_reader(schema: StructType) -> Callable[[Row], tuple[Any, ...]]:
    """Return a function that converts a row of this schema to a tuple of plain Python values.

    Structs become dicts, and timestamps are in UTC.
    """
    converters = [_converter(field.dataType) for field in schema.fields]
    if not any(converters):
        return tuple

    def read(row: Row) -> tuple[Any, ...]:
        return tuple(
            value if convert is None or value is None else convert(value)
            for value, convert in zip(row, converters, strict=True)
        )

    return read


def _converter(data_type: DataType) -> Converter | None:
    match data_type:
        case TimestampType():
            return _in_utc
        case StructType():
            names, read = data_type.names, row_reader(data_type)
            return lambda row: dict(zip(names, read(row), strict=True))
        case ArrayType():
            convert = _converter(data_type.elementType)
            return None if convert is None else _list_converter(convert)
        case MapType():
            convert = _converter(data_type.valueType)
            return None if convert is None else _map_converter(convert)
        case _:
            return None


def _list_converter(convert: Converter) -> Converter:
    return lambda items: [None if item is None else convert(item) for item in items]


def _map_converter(convert: Converter) -> Converter:
    return lambda pairs: {key: None if value is None else convert(value) for key, value in pairs.items()}


def _in_utc(timestamp: datetime) -> datetime:
    # Spark returns naive timestamps in the time zone of the machine; `fold` marks a repeated hour.
    return timestamp.astimezone(UTC)
