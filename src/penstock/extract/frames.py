"""Frames of Arrow, pandas and polars become rows, a batch at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.errors import UnsupportedData
from penstock.interfaces.frames import FrameKind, frame_kind

if TYPE_CHECKING:
    from collections.abc import Iterator

_ROWS = 10_000


def pages_of(item: Any) -> Iterator[list[Any]] | None:
    """The rows of a frame in pages; None for anything that is no frame."""
    kind = frame_kind(item)
    if kind is None:
        return None
    if kind in {"spark", "relation"}:
        raise UnsupportedData(
            data_type="Spark DataFrame" if kind == "spark" else "relation",
            reason="frames that live in Spark are not extracted yet",
        )
    return _pages(_reader(item, kind))


def _reader(item: Any, kind: FrameKind) -> pa.RecordBatchReader:
    if kind == "pandas":
        return pa.Table.from_pandas(item, preserve_index=False).to_reader()
    if kind == "polars" and hasattr(item, "collect"):
        return _reader(item.collect(), kind)
    if isinstance(item, pa.RecordBatch):
        return pa.RecordBatchReader.from_batches(item.schema, [item])
    return pa.RecordBatchReader.from_stream(item)


def _pages(reader: pa.RecordBatchReader) -> Iterator[list[Any]]:
    target = _microseconds(reader.schema)
    for batch in reader:
        table = pa.Table.from_batches([batch]).cast(target, safe=False)
        for page in table.to_batches(max_chunksize=_ROWS):
            yield page.to_pylist()


def _microseconds(schema: pa.Schema) -> pa.Schema:
    """The same schema with moments in microseconds, which is what Spark has."""
    fields = [field.with_type(_cut(field.type)) for field in schema]
    return pa.schema(fields)


def _cut(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        return pa.timestamp("us", tz=kind.tz)
    if pa.types.is_time64(kind) and kind.unit == "ns":
        return pa.time64("us")
    return kind
