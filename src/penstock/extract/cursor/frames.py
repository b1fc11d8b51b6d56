"""Cursors over frames of Arrow, pandas and polars, by masks and aggregates of Arrow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import (
    IncrementalCursorPathHasValueNone,
    IncrementalCursorPathMissing,
    IncrementalPrimaryKeyMissing,
    UnsupportedData,
)
from penstock.extract.cursor.digest import hasher
from penstock.interfaces.frames import frame_kind
from penstock.interfaces.hints import key_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from penstock.extract.cursor.progress import CursorProgress

_HASH_BATCH_ROWS: Final = 10_000
_START_LABEL, _END_LABEL = "initial_value or last value", "end_value"


class FrameCursor:
    """Filters the new rows of a frame, and advances the cursor."""

    def __init__(self, progress: CursorProgress) -> None:
        self._progress, self._options = progress, progress.options
        if not self._options.is_min_or_max:
            raise UnsupportedData(data_type="frame", reason="its last_value_func must be max or min")
        beyond, before = (pc.greater, pc.less) if self._options.is_max else (pc.less, pc.greater)
        until, since = (
            (pc.less_equal, pc.greater_equal) if self._options.is_max else (pc.greater_equal, pc.less_equal)
        )
        self._beyond: Callable[..., Any] = beyond
        self._inside_end: Callable[..., Any] = before if self._options.range_end == "open" else until
        self._inside_start: Callable[..., Any] = beyond if self._options.range_start == "open" else since

    def new_rows(self, frame: Any) -> Any:
        """Return the new rows as a frame of the same library; None without new rows."""
        table = _as_table(frame)
        name = self._cursor_column(table)
        if not len(table):
            return frame
        values = table[name].combine_chunks()
        present = pc.is_valid(values)
        has_nulls = not pc.all(present).as_py()
        if has_nulls and self._options.on_cursor_value_missing == "raise":
            raise IncrementalCursorPathHasValueNone(resource=self._progress.resource, cursor_path=name)
        mask = self._new_row_mask(table, values, present)
        if has_nulls and self._options.on_cursor_value_missing == "include":
            mask = pc.or_(mask, pc.invert(present))
        return _filter_frame(frame, table, mask) if pc.any(mask).as_py() else None

    def _cursor_column(self, table: pa.Table) -> str:
        name = self._progress.path.column
        if name is None or name not in table.column_names:
            raise IncrementalCursorPathMissing(
                resource=self._progress.resource, cursor_path=str(self._options.cursor_path)
            )
        return name

    def _new_row_mask(self, table: pa.Table, values: pa.Array, present: pa.Array) -> pa.Array:
        """Return the mask of the new rows among those with a value."""
        progress = self._progress
        if not pc.any(present).as_py():
            return present
        progress.align_timezones(self._furthest(values).as_py())
        mask, end_out, start_out = present, False, False
        if progress.end_value is not None:
            inside = self._inside_end(values, self._scalar(progress.end_value, values.type, _END_LABEL))
            mask, end_out = _intersect_masks(mask, inside)
        before_end = mask
        if progress.start_value is not None:
            start = self._scalar(progress.start_value, values.type, _START_LABEL)
            mask, start_out = _intersect_masks(mask, self._inside_start(values, start))
            if progress.deduplicates and progress.boundary.has_earlier:
                at_start = _null_to_false(pc.and_(mask, pc.equal(values, start)))
                mask = self._mask_out_earlier(table, mask, at_start)
        self._advance(table, values.filter(before_end), pc.and_(mask, present), values)
        progress.record_out_of_range(start_out=start_out, end_out=end_out)
        return mask

    def _mask_out_earlier(self, table: pa.Table, mask: pa.Array, at_start: pa.Array) -> pa.Array:
        """Return the mask without rows that an earlier run has read; only rows at the start are hashed."""
        boundary = self._progress.boundary
        hashes = self._hashes(table.filter(at_start), old_format=boundary.has_old_format)
        are_new = pa.array([not boundary.contains_earlier(digest) for digest in hashes], pa.bool_())
        return pc.replace_with_mask(mask, at_start, are_new)

    def _advance(self, table: pa.Table, reached: pa.Array, mask: pa.Array, values: pa.Array) -> None:
        progress = self._progress
        if not len(reached):
            return
        furthest = self._furthest(reached)
        last = progress.last_value
        last_scalar = None if last is None else self._scalar(last, values.type, _START_LABEL)
        if last_scalar is None or self._beyond(furthest, last_scalar).as_py():
            progress.advance_to(furthest.as_py())
        elif not pc.equal(furthest, last_scalar).as_py():
            return
        if progress.deduplicates:
            at_last = table.filter(_null_to_false(pc.and_(mask, pc.equal(values, furthest))))
            for digest in self._hashes(at_last, old_format=progress.boundary.writes_old_format):
                progress.boundary.add(digest)

    def _furthest(self, values: pa.Array) -> pa.Scalar:
        return pc.max(values) if self._options.is_max else pc.min(values)

    def _hashes(self, rows: pa.Table, *, old_format: bool) -> Iterator[bytes]:
        key = self._options.primary_key
        key = key(rows) if callable(key) else key
        if key is not None:
            missing = [name for name in key_columns(key) if name not in rows.column_names]
            if missing:
                raise IncrementalPrimaryKeyMissing(resource=self._progress.resource, key=missing[0])
            rows = rows.select(list(key_columns(key)))
        digest = hasher(key, resource=self._progress.resource, old_format=old_format)
        for batch in rows.to_batches(max_chunksize=_HASH_BATCH_ROWS):
            yield from map(digest, batch.to_pylist())

    def _scalar(self, value: Any, kind: pa.DataType, bound: str) -> pa.Scalar:
        try:
            return pa.scalar(value, kind)
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise self._progress.coercion_error(bound, value, f"a column of {kind}", error) from error


def _intersect_masks(mask: pa.Array, inside: pa.Array) -> tuple[pa.Array, bool]:
    """Return the rows in both masks, and whether the second removes any row of the first."""
    both = _null_to_false(pc.and_(mask, inside))
    return both, both.true_count < mask.true_count


def _null_to_false(mask: pa.Array) -> pa.Array:
    return pc.fill_null(mask, False)  # noqa: FBT003 - the value to fill in


def _as_table(frame: Any) -> pa.Table:
    """Return the frame as Arrow, with timestamps in microseconds, as in the state."""
    kind = frame_kind(frame)
    if kind == "pandas":
        table = pa.Table.from_pandas(frame, preserve_index=False)
    elif kind == "polars":
        table = (frame.collect() if hasattr(frame, "collect") else frame).to_arrow()
    elif isinstance(frame, pa.RecordBatch):
        table = pa.Table.from_batches([frame])
    elif isinstance(frame, pa.Table):
        table = frame
    else:
        table = pa.RecordBatchReader.from_stream(frame).read_all()
    has_nanoseconds = any(_is_nanoseconds(field.type) for field in table.schema)
    return table.cast(_in_microseconds(table.schema), safe=False) if has_nanoseconds else table


def _is_nanoseconds(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind) and kind.unit == "ns")


def _in_microseconds(schema: pa.Schema) -> pa.Schema:
    return pa.schema(
        field.with_type(pa.timestamp("us", field.type.tz)) if _is_nanoseconds(field.type) else field
        for field in schema
    )


def _filter_frame(frame: Any, table: pa.Table, mask: pa.Array) -> Any:
    """Return the rows of the mask; a frame that can be read only once becomes a table."""
    match frame_kind(frame):
        case "pandas":
            return frame[mask.to_numpy(zero_copy_only=False)]
        case "polars":
            collected = frame.collect() if hasattr(frame, "collect") else frame
            return collected.filter(mask.to_numpy(zero_copy_only=False))
        case _:
            return (frame if isinstance(frame, (pa.Table, pa.RecordBatch)) else table).filter(mask)
