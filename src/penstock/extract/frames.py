"""Frames of Arrow, pandas and polars as batches of one row group, in types that Spark reads."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from penstock.errors import UnsupportedColumnType
from penstock.interfaces.file_schema import (
    PLACEHOLDER_COLUMN,
    array_type,
    file_column_name,
    map_type,
    struct_field,
    struct_type,
    table_document,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from penstock.extract.plan import Rotation
    from penstock.interfaces.file_schema import LogicalType
    from penstock.interfaces.frames import FrameKind

_ZERO_FRACTION = r"\.0{6}$"
_MAX_DECIMAL_DIGITS: Final = 38
_MICROSECONDS: Final = pa.timestamp("us", tz="UTC")
# Types that Spark does not read, and the type that holds all of their values.
_WIDENED_TYPES: Final = {
    pa.uint8(): pa.int64(),
    pa.uint16(): pa.int64(),
    pa.uint32(): pa.int64(),
    pa.float16(): pa.float32(),
    pa.date64(): pa.date32(),
}
_TABLE_TYPES: Final = {"long": pa.int64(), "double": pa.float64()}
"""The types to which the numbers of tables are widened."""
_SPARK_TYPE_NAMES: Final = {
    pa.bool_(): "boolean",
    pa.int8(): "byte",
    pa.int16(): "short",
    pa.int32(): "integer",
    pa.int64(): "long",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.date32(): "date",
    _MICROSECONDS: "timestamp",
    pa.string(): "string",
    pa.large_string(): "string",
    pa.binary(): "binary",
    pa.large_binary(): "binary",
}


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows with the columns of their files, and the schema document of these."""

    rows: pa.Table
    columns: Mapping[str, Any]


def frame_batches(frame: Any, kind: FrameKind, rotation: Rotation) -> Iterator[Batch]:
    """Yield the rows of a frame, at most a row group at a time."""
    for batch in _batch_reader(frame, kind):
        for piece in _row_group_slices(batch, rotation):
            yield to_batch(piece)


def to_batch(rows: pa.RecordBatch) -> Batch:
    """Convert columns to types that Spark reads, under names that depend on their keys alone."""
    for name, count in Counter(rows.schema.names).items():
        if count > 1:
            raise UnsupportedColumnType(column=name, reason="the frame has two columns with this name")
    columns, fields = {}, []
    for key, values in zip(rows.schema.names, rows.columns, strict=True):
        written = _file_column(values, key)
        if written is not None:
            name = file_column_name(key)
            columns[name] = written
            kind = spark_type(written.type, _storage_type(values.type))
            fields.append(struct_field(key, kind, name=name, logical_type=logical_type(values.type)))
    if not columns:
        # Parquet has no row count without a column.
        columns[PLACEHOLDER_COLUMN] = pa.nulls(rows.num_rows, pa.bool_())
    return Batch(pa.table(columns), struct_type(fields))


def to_table_batch(batch: Batch) -> Batch | None:
    """Return the rows in types of tables; None if a table cannot take their columns as they are."""
    document = table_document(batch.columns)
    if document is None:
        return None
    schema = batch.rows.schema
    for position, field in enumerate(document["fields"]):
        if field["type"] != batch.columns["fields"][position]["type"]:
            schema = schema.set(position, schema.field(position).with_type(_TABLE_TYPES[field["type"]]))
    return Batch(batch.rows.cast(schema), document)


def _file_column(values: pa.Array, key: str) -> pa.Array | None:
    decoded = _decode_column(values)
    if file_type(decoded.type, key, wide=False) is None:
        return None
    # Two casts: nanoseconds may be truncated, other numbers may not.
    truncated = decoded.cast(microsecond_type(decoded.type), safe=False)
    try:
        column = truncated.cast(file_type(truncated.type, key, wide=False))
    except pa.ArrowInvalid:
        column = truncated.cast(file_type(truncated.type, key, wide=True))
    if pa.types.is_time(values.type):
        return pc.replace_substring_regex(column, _ZERO_FRACTION, "")
    return column


def _decode_column(values: pa.Array) -> pa.Array:
    """Return the values without run-end encoding and extension types."""
    kind = values.type
    if getattr(kind, "extension_name", "") == "arrow.uuid":
        return pa.array([None if value is None else str(value) for value in values.to_pylist()], pa.string())
    if isinstance(kind, pa.BaseExtensionType):
        return _decode_column(values.storage)
    if pa.types.is_run_end_encoded(kind):
        return _decode_column(pc.run_end_decode(values))
    return values


def _storage_type(kind: pa.DataType) -> pa.DataType:
    return _storage_type(kind.storage_type) if isinstance(kind, pa.BaseExtensionType) else kind


def _row_group_slices(batch: pa.RecordBatch, rotation: Rotation) -> Iterator[pa.RecordBatch]:
    """Yield slices of one row group each, and the remainder."""
    rows = rotation.row_group_bytes * batch.num_rows // max(batch.nbytes, 1) + 1
    max_rows = min(rotation.row_group_rows, rows)
    for start in range(0, batch.num_rows, max_rows):
        yield batch.slice(start, max_rows)


def _batch_reader(frame: Any, kind: FrameKind) -> pa.RecordBatchReader:
    if kind == "pandas":
        return pa.Table.from_pandas(frame, preserve_index=False).to_reader()
    if kind == "polars" and hasattr(frame, "collect"):
        return _batch_reader(frame.collect(), kind)
    if isinstance(frame, pa.RecordBatch):
        return pa.RecordBatchReader.from_batches(frame.schema, [frame])
    return pa.RecordBatchReader.from_stream(frame)


def microsecond_type(kind: pa.DataType) -> pa.DataType:
    """Return the type with microseconds instead of nanoseconds, as in Spark.

    Times of day and durations are always in microseconds, so that their texts and numbers have one form.
    """
    if types.is_timestamp(kind) and kind.unit == "ns":
        return pa.timestamp("us", tz=kind.tz)
    if types.is_time(kind):
        return pa.time64("us")
    if types.is_duration(kind):
        return pa.duration("us")
    return _map_inner_types(kind, microsecond_type)


def file_type(kind: pa.DataType, column_path: str, *, wide: bool) -> pa.DataType | None:
    """Return the type in the file; None for nulls and structs without fields.

    `wide` is for values that exceed the usual type: integers beyond 63 bits, and decimals beyond 38 digits,
    which become text.
    """
    if types.is_null(kind) or (types.is_struct(kind) and not kind.num_fields):
        return None
    if kind in _SPARK_TYPE_NAMES:
        return kind
    if kind in _WIDENED_TYPES:
        return _WIDENED_TYPES[kind]
    if types.is_uint64(kind):
        return pa.decimal128(20, 0) if wide else pa.int64()
    if types.is_decimal(kind):
        return _decimal_type(kind, wide=wide)
    if types.is_timestamp(kind):
        return _MICROSECONDS
    if types.is_duration(kind):
        return pa.int64()
    if types.is_time(kind) or str(kind) == "string_view":
        return pa.string()
    if types.is_fixed_size_binary(kind) or str(kind) == "binary_view":
        return pa.binary()
    return _nested_type(kind, column_path, wide=wide)


def spark_type(kind: pa.DataType, original: pa.DataType) -> Any:
    """Return the type that Spark reads from the file; `original` is the user's type, with logical types."""
    if kind in _SPARK_TYPE_NAMES:
        return _SPARK_TYPE_NAMES[kind]
    if types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if types.is_struct(kind):
        original_types = {inner.name: inner.type for inner in _fields(original)}
        return struct_type(
            struct_field(
                inner.name,
                spark_type(inner.type, original_types[inner.name]),
                name=inner.name,
                logical_type=logical_type(original_types[inner.name]),
            )
            for inner in _fields(kind)
        )
    if types.is_map(kind):
        return map_type(
            spark_type(kind.key_type, original.key_type),
            spark_type(kind.item_type, original.item_type),
        )
    return array_type(spark_type(kind.value_type, original.value_type))


def logical_type(original: pa.DataType) -> LogicalType | None:
    """Return the logical type of a text in the file."""
    if types.is_time(original):
        return "time"
    return "json" if getattr(original, "extension_name", "") == "arrow.json" else None


def _decimal_type(kind: pa.DataType, *, wide: bool) -> pa.DataType:
    scale = max(kind.scale, 0)
    digits = kind.precision - min(kind.scale, 0)
    if digits <= _MAX_DECIMAL_DIGITS:
        return pa.decimal128(digits, scale)
    return pa.string() if wide or scale > _MAX_DECIMAL_DIGITS else pa.decimal128(_MAX_DECIMAL_DIGITS, scale)


def _nested_type(kind: pa.DataType, column_path: str, *, wide: bool) -> pa.DataType | None:
    if types.is_struct(kind):
        names = [inner.name for inner in _fields(kind)]
        if len(set(names)) != len(names):
            raise UnsupportedColumnType(column=column_path, reason="the struct has two fields with one name")
        fields = [
            (inner.name, file_type(inner.type, f"{column_path}.{inner.name}", wide=wide))
            for inner in _fields(kind)
        ]
        non_empty = [pa.field(name, inner) for name, inner in fields if inner is not None]
        return pa.struct(non_empty) if non_empty else None
    if types.is_map(kind):
        key = file_type(kind.key_type, f"{column_path}.key", wide=wide)
        value = (
            pa.string()
            if types.is_null(kind.item_type)
            else file_type(kind.item_type, column_path, wide=wide)
        )
        if key is None or value is None:
            raise UnsupportedColumnType(column=column_path, reason="a map of structs without fields")
        return pa.map_(key, value)
    if _is_list(kind):
        element = file_type(kind.value_type, f"{column_path}[]", wide=wide)
        return None if element is None else pa.list_(element)
    if types.is_dictionary(kind):
        return file_type(kind.value_type, column_path, wide=wide)
    if isinstance(kind, pa.BaseExtensionType):
        return file_type(kind.storage_type, column_path, wide=wide)
    raise UnsupportedColumnType(column=column_path, reason=f"files cannot hold the type {kind}")


def _map_inner_types(kind: pa.DataType, rule: Any) -> pa.DataType:
    """Apply a rule to the inner types of a container."""
    if types.is_struct(kind):
        return pa.struct([inner.with_type(rule(inner.type)) for inner in _fields(kind)])
    if types.is_map(kind):
        return pa.map_(rule(kind.key_type), rule(kind.item_type))
    if types.is_dictionary(kind):
        return rule(kind.value_type) if rule(kind.value_type) != kind.value_type else kind
    if _is_list(kind):
        inner = rule(kind.value_type)
        return pa.list_(inner) if inner != kind.value_type else kind
    return kind


def _is_list(kind: pa.DataType) -> bool:
    shape = str(kind).split("<", 1)[0]
    return shape in {"list", "large_list", "fixed_size_list", "list_view", "large_list_view"}


def _fields(kind: pa.DataType) -> Iterator[pa.Field]:
    return (kind.field(index) for index in range(kind.num_fields))
