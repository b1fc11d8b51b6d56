"""Frames of Arrow, pandas and polars become batches that files can hold, one row group at a time."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import UnsupportedColumnType
from penstock.extract.arrowtypes import file_type, logical_type, microsecond_type, spark_type
from penstock.interfaces.file_schema import PLACEHOLDER_COLUMN, file_column_name, struct_field, struct_type

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from penstock.extract.plan import Rotation
    from penstock.interfaces.frames import FrameKind

_ZERO_FRACTION = r"\.0{6}$"


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows with the columns that they have in files, and the document by which these are read."""

    rows: pa.Table
    columns: Mapping[str, Any]


def frame_batches(frame: Any, kind: FrameKind, rotation: Rotation) -> Iterator[Batch]:
    """The rows of a frame, never more at a time than a row group holds."""
    for batch in _batch_reader(frame, kind):
        for piece in _row_group_slices(batch, rotation):
            yield to_batch(piece)


def to_batch(rows: pa.RecordBatch) -> Batch:
    """Columns in types that Spark reads from files, under names that depend on their keys alone."""
    for name, count in Counter(rows.schema.names).items():
        if count > 1:
            raise UnsupportedColumnType(column=name, reason="its name stands in the frame twice")
    columns, fields = {}, []
    for key, values in zip(rows.schema.names, rows.columns, strict=True):
        written = _file_column(values, key)
        if written is not None:
            name = file_column_name(key)
            columns[name] = written
            kind = spark_type(written.type, _storage_type(values.type))
            fields.append(struct_field(key, kind, name=name, logical_type=logical_type(values.type)))
    if not columns:
        # Parquet counts no rows without a column.
        columns[PLACEHOLDER_COLUMN] = pa.nulls(rows.num_rows, pa.bool_())
    return Batch(pa.table(columns), struct_type(fields))


def _file_column(values: pa.Array, key: str) -> pa.Array | None:
    plain = _decode_column(values)
    if file_type(plain.type, key, wide=False) is None:
        return None
    # Nanoseconds may be cut, but no number may be: the two casts are not one.
    whole = plain.cast(microsecond_type(plain.type), safe=False)
    try:
        found = whole.cast(file_type(whole.type, key, wide=False))
    except pa.ArrowInvalid:
        found = whole.cast(file_type(whole.type, key, wide=True))
    if pa.types.is_time(values.type):
        return pc.replace_substring_regex(found, _ZERO_FRACTION, "")
    return found


def _decode_column(values: pa.Array) -> pa.Array:
    """Values without an encoding or a meaning of their own around them."""
    kind = values.type
    if getattr(kind, "extension_name", "") == "arrow.uuid":
        return pa.array([None if one is None else str(one) for one in values.to_pylist()], pa.string())
    if isinstance(kind, pa.BaseExtensionType):
        return _decode_column(values.storage)
    if pa.types.is_run_end_encoded(kind):
        return _decode_column(pc.run_end_decode(values))
    return values


def _storage_type(kind: pa.DataType) -> pa.DataType:
    return _storage_type(kind.storage_type) if isinstance(kind, pa.BaseExtensionType) else kind


def _row_group_slices(batch: pa.RecordBatch, rotation: Rotation) -> Iterator[pa.RecordBatch]:
    """Slices that fill a row group each, and a rest."""
    rows = rotation.row_group_bytes * batch.num_rows // max(batch.nbytes, 1) + 1
    most = min(rotation.row_group_rows, rows)
    for start in range(0, batch.num_rows, most):
        yield batch.slice(start, most)


def _batch_reader(frame: Any, kind: FrameKind) -> pa.RecordBatchReader:
    if kind == "pandas":
        return pa.Table.from_pandas(frame, preserve_index=False).to_reader()
    if kind == "polars" and hasattr(frame, "collect"):
        return _batch_reader(frame.collect(), kind)
    if isinstance(frame, pa.RecordBatch):
        return pa.RecordBatchReader.from_batches(frame.schema, [frame])
    return pa.RecordBatchReader.from_stream(frame)
