"""A cursor as a stage of its resource: every item passes here, and new rows go on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.extract.cursor.frames import FrameCursor
from penstock.extract.cursor.rows import RowCursor
from penstock.interfaces.frames import frame_kind

if TYPE_CHECKING:
    from penstock.extract.cursor.progress import Progress


class Tracker:
    """Lets new rows through. Items of threads pass here too, one after the other."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self._rows = RowCursor(progress)
        self._frames: FrameCursor | None = None
        self.has_seen = self.has_rows = False
        """Whether anything has come, and whether anything of it was new."""

    def __call__(self, item: Any, mark: Any) -> Any:
        """The new rows of an item, a page or a frame; None where there are none."""
        if item is None or (isinstance(item, list) and not item):
            return item
        kept = self._new(item)
        self.has_seen, self.has_rows = True, self.has_rows or kept is not None
        self.progress.keep_ahead()
        return kept

    def _new(self, item: Any) -> Any:
        if not isinstance(item, list):
            if frame_kind(item) is not None:
                return self._new_of_frame(item)
            return item if self._rows.is_new(item) else None
        if frame_kind(item[0]) is not None:
            return [frame for frame in map(self._new_of_frame, item) if frame is not None] or None
        return list(filter(self._rows.is_new, item)) or None

    def _new_of_frame(self, frame: Any) -> Any:
        if self._frames is None:
            self._frames = FrameCursor(self.progress)
        return self._frames.take(frame)
