"""Cursors over Spark DataFrames: rows are filtered where they are, and looked at while they are written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.config import logger
from penstock.errors import (
    IncrementalCursorPathHasValueNone,
    IncrementalCursorPathMissing,
    IncrementalPrimaryKeyMissing,
    UnsupportedData,
)
from penstock.interfaces.framecursor import FrameBounds, FrameSeen, frame_cursors
from penstock.interfaces.hints import key_columns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame

    from penstock.extract.cursor.progress import Progress
    from penstock.interfaces.landing import LandedFrame

_LOG = logger("penstock.extract")


class NativeCursor:
    """Filters a DataFrame, and follows it to its files."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._terms = progress, progress.terms
        if not self._terms.is_plain:
            raise UnsupportedData(
                data_type="Spark DataFrame", reason="its last_value_func must be max or min"
            )

    def take(self, frame: DataFrame) -> DataFrame:
        """The new rows of a frame, still to be read. Nothing is known of them until they are written."""
        progress, bounds = self._progress, self._bounds(frame)
        if progress.is_key_found and bounds.key is None and progress.deduplicates:
            _LOG.warning(
                "%s has lost a column of the key %s in a step: rows at the last value of its cursor are told "
                "apart by all columns; name other ones with primary_key",
                progress.resource,
                ", ".join(key_columns(self._terms.primary_key)),
            )
        known = progress.boundary.earlier() if progress.deduplicates else ()
        try:
            return frame_cursors().new_rows(frame, bounds, known=known)
        except TypeError as error:
            bound = progress.start_value if progress.start_value is not None else progress.end_value
            raise progress.coercion("initial_value or last value", bound, "a column", error) from error

    def aggregates(self, frame: DataFrame) -> dict[str, Column]:
        """What is to be observed while the rows are written."""
        return frame_cursors().aggregates(frame, self._bounds(frame))

    def learn(self, landed: LandedFrame, frame: DataFrame, seen: Mapping[str, Any] | None) -> bool:
        """Move the cursor on to where the written rows go; gives whether there are any."""
        progress, bounds = self._progress, self._bounds(frame)
        asked = frame_cursors()
        values = asked.read_back(frame, landed, bounds) if seen is None else seen
        found = asked.seen_of(values, frame, bounds)
        if found.missing and self._terms.on_cursor_value_missing == "raise":
            raise IncrementalCursorPathHasValueNone(resource=progress.resource, cursor_path=bounds.column)
        if found.furthest is not None and self._advance(found) and progress.deduplicates:
            for digest in asked.hashes_in(frame, landed, bounds, progress.last_value):
                progress.boundary.remember(digest)
        progress.keep_ahead()
        return found.furthest is not None or bool(found.missing)

    def _advance(self, found: FrameSeen) -> bool:
        """Whether the rows go as far as the cursor, or further."""
        progress, pick = self._progress, self._terms.last_value_func
        progress.fit(found.furthest)
        last = progress.last_value
        if last is None or pick((found.furthest, last)) != last:
            progress.reach(found.furthest)
            return True
        return bool(found.furthest == last)

    def _bounds(self, frame: DataFrame) -> FrameBounds:
        progress, terms = self._progress, self._terms
        key = terms.primary_key(frame) if callable(terms.primary_key) else terms.primary_key
        names = None if key is None else key_columns(key)
        column = progress.path.column
        if column is None or column not in frame.columns:
            raise IncrementalCursorPathMissing(resource=progress.resource, cursor_path=str(terms.cursor_path))
        missing = [name for name in names or () if name not in frame.columns]
        if missing and progress.is_key_found:
            # A step has dropped it, or given it another name: rows are known by all that is in them.
            names = None
        elif missing and progress.deduplicates:
            raise IncrementalPrimaryKeyMissing(resource=progress.resource, key=missing[0])
        return FrameBounds(
            column=column,
            is_max=terms.is_max,
            start=progress.start_value,
            end=progress.end_value,
            is_start_open=terms.range_start == "open",
            is_end_open=terms.range_end == "open",
            missing=terms.on_cursor_value_missing,
            key=names,
        )


@dataclass(slots=True)
class CursorHook:
    """Looks, for all cursors of a resource, at a DataFrame that is written."""

    trackers: Sequence[Any]
    frame: Any = None

    def before(self, frame: DataFrame) -> tuple[DataFrame, dict[str, Column]]:
        """The frame as it is, its rows are filtered already; and what to observe, for each cursor."""
        self.frame = frame
        return frame, {
            f"{name}_{number}": column
            for number, tracker in enumerate(self.trackers)
            for name, column in tracker.native.aggregates(frame).items()
        }

    def after(self, landed: LandedFrame) -> None:
        """Tell the cursors what came of the frame."""
        for number, tracker in enumerate(self.trackers):
            tracker.note(tracker.native.learn(landed, self.frame, _own(landed.seen, f"_{number}")))


def _own(seen: Mapping[str, Any] | None, ending: str) -> dict[str, Any] | None:
    if seen is None:
        return None
    return {name.removesuffix(ending): value for name, value in seen.items() if name.endswith(ending)}
