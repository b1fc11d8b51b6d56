"""Incremental cursors over DataFrames: a native filter, a native aggregate, an anti-join for the boundary.

Values are transferred as numbers and texts, not as timestamps, which depend on the session's time zone.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, FloatType, MapType, NullType, StructField, StructType

from penstock.interfaces.file_schema import file_column_name
from penstock.interfaces.frame_engine import FrameBounds, FrameObservation
from penstock.schema.spark_sql import quote_name
from penstock.spark.paths import spark_path
from penstock.spark.session import missing_conf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

    from penstock.interfaces.frame_engine import FrameWriteResult

FURTHEST: Final = "penstock_furthest"
MISSING: Final = "penstock_missing"
_HASH: Final = "penstock_hash"
_HASH_DIGITS: Final = 18
_JSON_OPTIONS: Final = {"timeZone": "UTC"}
_MAX_BROADCAST_HASHES: Final = 100_000
_HASH_BATCH_SIZE: Final = 100_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NUMERIC_TYPES: Final = ("tinyint", "smallint", "int", "bigint", "float", "double")


def new_rows(frame: DataFrame, bounds: FrameBounds, *, known_hashes: Iterable[bytes] = ()) -> DataFrame:
    """Return the rows of the range without those at its start whose hashes are known. Runs no job.

    Raise TypeError if a bound does not have the type of the column. Rows without a value are kept unless they
    are excluded; if they are not allowed, they are detected when the frame is written.
    """
    kind, cursor = _column_type(frame, bounds.column), _column(bounds.column)
    wanted = _range_filter(cursor, bounds, kind)
    within = frame if wanted is None else frame.filter(_with_missing(wanted, cursor, bounds))
    hashes = _hash_table(known_hashes if bounds.start is not None else ())
    if not len(hashes):
        return within
    at_start = cursor == cursor_literal(bounds.start, kind)
    others = frame.sparkSession.createDataFrame(hashes)
    others = F.broadcast(others) if len(hashes) <= _MAX_BROADCAST_HASHES else others
    marked = within.withColumn(_HASH, F.when(at_start, row_hash(frame, bounds.key)))
    return marked.join(others, on=_HASH, how="left_anti").drop(_HASH)


def aggregates(frame: DataFrame, bounds: FrameBounds) -> dict[str, Column]:
    """Return the aggregates to observe during the write: the furthest value, and the rows without a value."""
    kind, cursor = _column_type(frame, bounds.column), _column(bounds.column)
    furthest = F.max(cursor) if bounds.is_max else F.min(cursor)
    return {FURTHEST: _encode_value(furthest, kind), MISSING: F.count_if(cursor.isNull())}


def observation(values: Mapping[str, Any], frame: DataFrame, bounds: FrameBounds) -> FrameObservation:
    """Convert the observed aggregates to Python; the furthest value is None if no row has a value."""
    furthest = _decode_value(values[FURTHEST], _column_type(frame, bounds.column))
    return FrameObservation(last_value=furthest, missing_count=int(values[MISSING]))


def row_hash(frame: DataFrame, key: tuple[str, ...] | None) -> Column:
    """Return nine bytes in hexadecimal, hashed over the key or all columns, the same in every time zone.

    Names are not hashed, because names of columns and struct fields differ in files.
    """
    kinds = {column_field.name: column_field.dataType for column_field in frame.schema.fields}
    names = [name for name, kind in kinds.items() if kind != NullType()] if key is None else list(key)
    values = [_column(name).cast(_with_numbered_fields(kinds[name])) for name in names]
    text = F.to_json(F.struct(*(value.alias(f"n{at}") for at, value in enumerate(values))), _JSON_OPTIONS)
    return F.substring(F.sha2(text, 256), 1, _HASH_DIGITS)


def boundary_hashes(
    frame: DataFrame, result: FrameWriteResult, bounds: FrameBounds, last_value: Any
) -> Iterator[bytes]:
    """Return the hashes of the rows with the last value, read from the written files."""
    rows = _read_landed(frame, result)
    at_last = rows.filter(
        _column(bounds.column) == cursor_literal(last_value, _column_type(rows, bounds.column))
    )
    for row in at_last.select(row_hash(rows, bounds.key).alias(_HASH)).toLocalIterator():
        yield bytes.fromhex(row[_HASH])


def aggregates_from_files(frame: DataFrame, result: FrameWriteResult, bounds: FrameBounds) -> dict[str, Any]:
    """Compute the aggregates from the files if they were not observed."""
    rows = _read_landed(frame, result)
    wanted = [column.alias(name) for name, column in aggregates(rows, bounds).items()]
    (observed,) = rows.agg(*wanted).collect()
    return dict(observed.asDict())


def _read_landed(frame: DataFrame, landed: FrameWriteResult) -> DataFrame:
    """Read the rows of a frame from its files, under its original names."""
    session = frame.sparkSession
    rows = session.read.options(**missing_conf(landed.conf, session)).parquet(spark_path(landed.address))
    file_columns = frozenset(rows.columns)
    columns = [column for column in frame.schema if file_column_name(column.name) in file_columns]
    return rows.select(*(_original_column(column) for column in columns))


def _original_column(column: StructField) -> Column:
    """Return a column of the files under its original name, with the type by which its values are hashed.

    The files may have doubles for floats, whose texts differ; those of wider integers are equal.
    """
    source = F.col(file_column_name(column.name))
    return (source.cast("float") if column.dataType == FloatType() else source).alias(column.name)


def _with_numbered_fields(kind: DataType) -> DataType:
    """Return the type with numbers as names."""
    match kind:
        case StructType():
            inner = enumerate(kind.fields)
            return StructType(
                [
                    StructField(f"n{at}", _with_numbered_fields(column_field.dataType))
                    for at, column_field in inner
                ]
            )
        case ArrayType():
            return ArrayType(_with_numbered_fields(kind.elementType))
        case MapType():
            return MapType(_with_numbered_fields(kind.keyType), _with_numbered_fields(kind.valueType))
        case _:
            return kind


def _hash_table(digests: Iterable[bytes]) -> pa.Table:
    """Return hashes as a table, converted in parts: a list of texts needs ten times the memory."""
    remaining, chunks = iter(digests), []
    while part := [digest.hex() for digest in islice(remaining, _HASH_BATCH_SIZE)]:
        chunks.append(pa.array(part, pa.string()))
    return pa.table({_HASH: pa.chunked_array(chunks, pa.string())})


def _range_filter(cursor: Column, bounds: FrameBounds, kind: str) -> Column | None:
    parts: list[Column] = []
    if bounds.start is not None:
        start = cursor_literal(bounds.start, kind)
        since = cursor >= start if bounds.is_max else cursor <= start
        parts.append((cursor != start) & since if bounds.is_start_open else since)
    if bounds.end is not None:
        end = cursor_literal(bounds.end, kind)
        until = cursor <= end if bounds.is_max else cursor >= end
        parts.append((cursor != end) & until if bounds.is_end_open else until)
    if bounds.on_missing == "exclude":
        parts.append(cursor.isNotNull())
    if not parts:
        return None
    wanted = parts[0]
    for part in parts[1:]:
        wanted = wanted & part
    return wanted


def _with_missing(wanted: Column, cursor: Column, bounds: FrameBounds) -> Column:
    return wanted if bounds.on_missing == "exclude" else wanted | cursor.isNull()


def _column(name: str) -> Column:
    return F.col(quote_name(name))


def _column_type(frame: DataFrame, name: str) -> str:
    """Return the short type of a column; raise KeyError if it does not exist."""
    return dict(frame.dtypes)[name]


def cursor_literal(value: Any, kind: str) -> Column:
    """Return a value of a cursor as a constant of a short type, whatever the session's time zone is."""
    _check_type(value, kind)
    match value:
        case datetime() if kind == "timestamp":
            aware = value if value.tzinfo else value.replace(tzinfo=UTC)
            return F.timestamp_micros(F.lit((aware - _EPOCH) // timedelta(microseconds=1)))
        case datetime():
            naive = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
            return F.lit(naive.isoformat()).cast(kind)
        case date():
            return F.lit(value.isoformat()).cast(kind)
        case Decimal():
            return F.lit(str(value)).cast(kind)
        case _:
            return F.lit(value)


def _check_type(value: Any, kind: str) -> None:
    if isinstance(value, datetime):
        fits = kind in {"timestamp", "timestamp_ntz"}
    else:
        types: dict[str, type | tuple[type, ...]] = {
            "string": str,
            "date": date,
            "boolean": bool,
            "binary": bytes,
            **dict.fromkeys(_NUMERIC_TYPES, (int, float, Decimal)),
        }
        wanted = (int, float, Decimal) if kind.startswith("decimal") else types.get(kind)
        fits = wanted is not None and isinstance(value, wanted)
    if not fits:
        raise TypeError(f"a {type(value).__name__} cannot be compared with a column of {kind}")


def _encode_value(value: Column, kind: str) -> Column:
    if kind == "timestamp":
        return F.unix_micros(value)
    is_text = kind in {"timestamp_ntz", "date"} or kind.startswith("decimal")
    return value.cast("string") if is_text else value


def _decode_value(value: Any, kind: str) -> Any:
    readers: dict[str, Callable[[Any], Any]] = {
        "timestamp": lambda number: _EPOCH + timedelta(microseconds=number),
        "timestamp_ntz": datetime.fromisoformat,
        "date": date.fromisoformat,
        "binary": bytes,
    }
    if value is None:
        return None
    reader = Decimal if kind.startswith("decimal") else readers.get(kind)
    return value if reader is None else reader(value)
