"""A cursor as a stage of its resource: it filters the new rows of every item."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.errors import IncrementalCursorPathHasValueNone, IncrementalCursorPathMissing, UnsupportedData
from penstock.extract.cursor.digest import hasher
from penstock.extract.cursor.frames import FrameCursor
from penstock.extract.cursor.plan import classify_value
from penstock.extract.cursor.spark_frames import SparkFrameCursor
from penstock.interfaces.cursorpath import MISSING
from penstock.interfaces.frame_engine import require_frame_engine
from penstock.interfaces.frames import frame_kind

if TYPE_CHECKING:
    from penstock.extract.cursor.progress import CursorProgress
    from penstock.interfaces.cursor_options import CursorOptions
    from penstock.interfaces.frame_engine import FrameEngine
    from penstock.interfaces.frames import FrameKind


class Tracker:
    """Passes new rows. Items of threads pass here too, one after the other."""

    def __init__(
        self,
        progress: CursorProgress,
        *,
        is_loaded: bool = True,
        frame_engine: FrameEngine | None = None,
    ) -> None:
        self.progress, self._is_loaded, self._frame_engine = progress, is_loaded, frame_engine
        self._row_cursor = RowCursor(progress)
        self._frame_cursor: FrameCursor | None = None
        self._spark_cursor: SparkFrameCursor | None = None
        self.has_items = self.has_rows = False
        """Whether any item was read, and whether any row of it was new."""

    def __call__(self, item: Any, mark: Any) -> Any:
        """Return the new rows of an item, a page or a frame; None without new rows."""
        if item is None or (isinstance(item, list) and not item):
            return item
        if (kind := frame_kind(item)) in {"spark", "relation", "sifted"}:
            # Its values are known when it is written; see `CursorHook`.
            return self._new_spark_rows(item, kind)
        new_rows = self._new_rows(item)
        self.record_item(new_rows is not None)
        self.progress.clamp_to_previous()
        return new_rows

    @property
    def spark_cursor(self) -> SparkFrameCursor:
        """The cursor over Spark DataFrames."""
        if self._spark_cursor is None:
            self._spark_cursor = SparkFrameCursor(
                self.progress, require_frame_engine(self._frame_engine).cursors
            )
        return self._spark_cursor

    def record_item(self, has_rows: bool) -> None:  # noqa: FBT001 - the only argument
        """Record that an item was read, and whether any row of it was new."""
        self.has_items, self.has_rows = True, self.has_rows or has_rows

    def _new_spark_rows(self, frame: Any, kind: FrameKind) -> Any:
        if not self._is_loaded:
            raise UnsupportedData(
                data_type="Spark DataFrame",
                reason="its resource has a cursor, which needs the written table, and is not loaded",
            )
        if kind == "sifted":
            return frame
        return self.spark_cursor.new_rows(frame.spark() if kind == "relation" else frame)

    def _new_rows(self, item: Any) -> Any:
        if not isinstance(item, list):
            if frame_kind(item) is not None:
                return self._new_frame_rows(item)
            return item if self._row_cursor.is_new(item) else None
        if frame_kind(item[0]) is not None:
            return [frame for frame in map(self._new_frame_rows, item) if frame is not None] or None
        return list(filter(self._row_cursor.is_new, item)) or None

    def _new_frame_rows(self, frame: Any) -> Any:
        if self._frame_cursor is None:
            self._frame_cursor = FrameCursor(self.progress)
        return self._frame_cursor.new_rows(frame)


class RowCursor:
    """Detects new rows. Rows at the boundary are hashed at once, because user code may change them later."""

    def __init__(self, progress: CursorProgress) -> None:
        self._progress, self._options = progress, progress.options
        key = self._options.primary_key
        self._known_hasher = hasher(
            key, resource=progress.resource, old_format=progress.boundary.has_old_format
        )
        self._new_hasher = hasher(key, resource=progress.resource)

    def is_new(self, row: Any) -> bool:
        """Return whether the row is new, and advance the cursor."""
        progress = self._progress
        value = progress.path.first(row)
        if value is None or value is MISSING:
            return self._accepts_missing_value(is_missing=value is MISSING)
        progress.align_timezones(value)
        try:
            verdict = classify_value(
                value,
                start=progress.start_value,
                last=progress.last_value,
                end=progress.end_value,
                options=self._options,
            )
        except Exception as error:  # values that do not compare, or a function of a user
            if self._is_user_error(value):
                raise
            raise self._coercion_error(value, error) from error
        if verdict.position != "in" or (verdict.at_start and self._was_read(row)):
            progress.record_out_of_range(
                start_out=verdict.position != "after", end_out=verdict.position == "after"
            )
            return False
        if verdict.advances:
            progress.advance_to(verdict.last_value)
        if verdict.at_last and progress.deduplicates:
            digest = self._known_hasher if progress.boundary.writes_old_format else self._new_hasher
            progress.boundary.add(digest(row))
        progress.start_out_of_range = progress.end_out_of_range = False
        return True

    def _was_read(self, row: Any) -> bool:
        progress = self._progress
        return progress.deduplicates and progress.boundary.contains_earlier(self._known_hasher(row))

    def _accepts_missing_value(self, *, is_missing: bool) -> bool:
        self._progress.start_out_of_range = self._progress.end_out_of_range = False
        if self._options.on_cursor_value_missing != "raise":
            return self._options.on_cursor_value_missing == "include"
        kind = IncrementalCursorPathMissing if is_missing else IncrementalCursorPathHasValueNone
        raise kind(resource=self._progress.resource, cursor_path=str(self._options.cursor_path))

    def _is_user_error(self, value: Any) -> bool:
        """Return whether the user's function failed although the values can be compared."""
        if self._options.is_min_or_max:
            return False
        bounds = (self._progress.end_value, self._progress.last_value)
        return all(bound is None or _are_comparable(value, bound) for bound in bounds)

    def _coercion_error(self, value: Any, error: Exception) -> Exception:
        progress, got = self._progress, f"{value!r}, {type(value).__name__}"
        if progress.end_value is not None and not _can_compare(self._options, value, progress.end_value):
            return progress.coercion_error("end_value", progress.end_value, got, error)
        return progress.coercion_error("initial_value or last value", progress.last_value, got, error)


def _are_comparable(value: Any, bound: Any) -> bool:
    if isinstance(value, type(bound)):
        return True
    try:
        return isinstance(value < bound, bool)
    except TypeError:
        return False


def _can_compare(options: CursorOptions, value: Any, bound: Any) -> bool:
    try:
        options.last_value_func((value, bound))
    except Exception:  # a user's function may raise anything
        return False
    return True
