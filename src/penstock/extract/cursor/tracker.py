"""A cursor as a stage of its resource: it filters the new rows of every item."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.errors import UnsupportedData
from penstock.extract.cursor.frames import FrameCursor
from penstock.extract.cursor.rows import RowCursor
from penstock.extract.cursor.spark_frames import SparkFrameCursor
from penstock.interfaces.frame_engine import require_frame_engine
from penstock.interfaces.frames import frame_kind

if TYPE_CHECKING:
    from penstock.extract.cursor.progress import CursorProgress
    from penstock.interfaces.frame_engine import FrameEngine


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
        if frame_kind(item) in {"spark", "relation"}:
            # Its values are known when it is written; see `CursorHook`.
            return self._new_spark_rows(item.spark() if frame_kind(item) == "relation" else item)
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

    def _new_spark_rows(self, frame: Any) -> Any:
        if not self._is_loaded:
            raise UnsupportedData(
                data_type="Spark DataFrame",
                reason="its resource has a cursor, which needs the written table, and is not loaded",
            )
        return self.spark_cursor.new_rows(frame)

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
