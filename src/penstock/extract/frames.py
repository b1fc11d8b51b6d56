"""Frames of Arrow, pandas and polars become batches that files can hold, one row group at a time."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import ColumnNotLandable
from penstock.extract.arrowtypes import cut, document_type, fitted, meaning
from penstock.interfaces.columns import NO_COLUMN, field, file_name, struct

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from penstock.extract.plan import Rotation
    from penstock.interfaces.frames import FrameKind

_WHOLE_SECONDS = r"\.0{6}$"


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows with the columns that they have in files, and the document by which these are read."""

    rows: pa.Table
    columns: Mapping[str, Any]


def batches_of(frame: Any, kind: FrameKind, rotation: Rotation) -> Iterator[Batch]:
    """The rows of a frame, never more at a time than a row group holds."""
    for batch in _reader(frame, kind):
        for piece in _pieces(batch, rotation):
            yield landable(piece)


def landable(rows: pa.RecordBatch) -> Batch:
    """Columns in types that Spark reads from files, under names that depend on their keys alone."""
    for name, count in Counter(rows.schema.names).items():
        if count > 1:
            raise ColumnNotLandable(column=name, reason="its name stands in the frame twice")
    columns, fields = {}, []
    for key, values in zip(rows.schema.names, rows.columns, strict=True):
        written = _written(values, key)
        if written is not None:
            name = file_name(key)
            columns[name] = written
            kind = document_type(written.type, _stored(values.type))
            fields.append(field(key, kind, name=name, meaning=meaning(values.type)))
    if not columns:
        # Parquet counts no rows without a column.
        columns[NO_COLUMN] = pa.nulls(rows.num_rows, pa.bool_())
    return Batch(pa.table(columns), struct(fields))


def _written(values: pa.Array, key: str) -> pa.Array | None:
    plain = _plain(values)
    if fitted(plain.type, key, wide=False) is None:
        return None
    # Nanoseconds may be cut, but no number may be: the two casts are not one.
    whole = plain.cast(cut(plain.type), safe=False)
    try:
        found = whole.cast(fitted(whole.type, key, wide=False))
    except pa.ArrowInvalid:
        found = whole.cast(fitted(whole.type, key, wide=True))
    if pa.types.is_time(values.type):
        return pc.replace_substring_regex(found, _WHOLE_SECONDS, "")
    return found


def _plain(values: pa.Array) -> pa.Array:
    """Values without an encoding or a meaning of their own around them."""
    kind = values.type
    if getattr(kind, "extension_name", "") == "arrow.uuid":
        return pa.array([None if one is None else str(one) for one in values.to_pylist()], pa.string())
    if isinstance(kind, pa.BaseExtensionType):
        return _plain(values.storage)
    if pa.types.is_run_end_encoded(kind):
        return _plain(pc.run_end_decode(values))
    return values


def _stored(kind: pa.DataType) -> pa.DataType:
    return _stored(kind.storage_type) if isinstance(kind, pa.BaseExtensionType) else kind


def _pieces(batch: pa.RecordBatch, rotation: Rotation) -> Iterator[pa.RecordBatch]:
    """Slices that fill a row group each, and a rest."""
    rows = rotation.row_group_bytes * batch.num_rows // max(batch.nbytes, 1) + 1
    most = min(rotation.row_group_rows, rows)
    for start in range(0, batch.num_rows, most):
        yield batch.slice(start, most)


def _reader(frame: Any, kind: FrameKind) -> pa.RecordBatchReader:
    if kind == "pandas":
        return pa.Table.from_pandas(frame, preserve_index=False).to_reader()
    if kind == "polars" and hasattr(frame, "collect"):
        return _reader(frame.collect(), kind)
    if isinstance(frame, pa.RecordBatch):
        return pa.RecordBatchReader.from_batches(frame.schema, [frame])
    return pa.RecordBatchReader.from_stream(frame)
