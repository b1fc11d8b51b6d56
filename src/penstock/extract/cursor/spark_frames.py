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
from penstock.interfaces.framecursor import FrameBounds, FrameObservation, frame_cursor_engine
from penstock.interfaces.hints import key_columns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame

    from penstock.extract.cursor.progress import CursorProgress
    from penstock.interfaces.frame_writer import FrameWriteResult

_LOG = logger("penstock.extract")


class SparkFrameCursor:
    """Filters a DataFrame, and follows it to its files."""

    def __init__(self, progress: CursorProgress) -> None:
        self._progress, self._terms = progress, progress.terms
        if not self._terms.is_min_or_max:
            raise UnsupportedData(
                data_type="Spark DataFrame", reason="its last_value_func must be max or min"
            )

    def new_rows(self, frame: DataFrame) -> DataFrame:
        """The new rows of a frame, still to be read. Nothing is known of them until they are written."""
        progress, bounds = self._progress, self._bounds(frame)
        if progress.is_key_inferred and bounds.key is None and progress.deduplicates:
            _LOG.warning(
                "%s has lost a column of the key %s in a step: rows at the last value of its cursor are told "
                "apart by all columns; name other ones with primary_key",
                progress.resource,
                ", ".join(key_columns(self._terms.primary_key)),
            )
        known = progress.boundary.earlier_digests() if progress.deduplicates else ()
        try:
            return frame_cursor_engine().new_rows(frame, bounds, known_hashes=known)
        except TypeError as error:
            bound = progress.start_value if progress.start_value is not None else progress.end_value
            raise progress.coercion_error("initial_value or last value", bound, "a column", error) from error

    def aggregates(self, frame: DataFrame) -> dict[str, Column]:
        """What is to be observed while the rows are written."""
        return frame_cursor_engine().aggregates(frame, self._bounds(frame))

    def record_written(
        self, landed: FrameWriteResult, frame: DataFrame, observed: Mapping[str, Any] | None
    ) -> bool:
        """Move the cursor on to where the written rows go; gives whether there are any."""
        progress, bounds = self._progress, self._bounds(frame)
        asked = frame_cursor_engine()
        values = asked.aggregates_from_files(frame, landed, bounds) if observed is None else observed
        found = asked.observation(values, frame, bounds)
        if found.missing_count and self._terms.on_cursor_value_missing == "raise":
            raise IncrementalCursorPathHasValueNone(resource=progress.resource, cursor_path=bounds.column)
        if found.last_value is not None and self._advance(found) and progress.deduplicates:
            for digest in asked.boundary_hashes(frame, landed, bounds, progress.last_value):
                progress.boundary.remember(digest)
        progress.clamp_to_previous()
        return found.last_value is not None or bool(found.missing_count)

    def _advance(self, frame_seen: FrameObservation) -> bool:
        """Whether the rows go as far as the cursor, or further."""
        progress, pick = self._progress, self._terms.last_value_func
        progress.align_timezones(frame_seen.last_value)
        last = progress.last_value
        if last is None or pick((frame_seen.last_value, last)) != last:
            progress.advance_to(frame_seen.last_value)
            return True
        return bool(frame_seen.last_value == last)

    def _bounds(self, frame: DataFrame) -> FrameBounds:
        progress, terms = self._progress, self._terms
        key = terms.primary_key(frame) if callable(terms.primary_key) else terms.primary_key
        names = None if key is None else key_columns(key)
        column = progress.path.column
        if column is None or column not in frame.columns:
            raise IncrementalCursorPathMissing(resource=progress.resource, cursor_path=str(terms.cursor_path))
        missing = [name for name in names or () if name not in frame.columns]
        if missing and progress.is_key_inferred:
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
            on_missing=terms.on_cursor_value_missing,
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
            for name, column in tracker.spark_cursor.aggregates(frame).items()
        }

    def after(self, result: FrameWriteResult) -> None:
        """Tell the cursors what came of the frame."""
        for number, tracker in enumerate(self.trackers):
            tracker.record_item(
                tracker.spark_cursor.record_written(
                    result, self.frame, _metrics_with_suffix(result.observed, f"_{number}")
                )
            )


def _metrics_with_suffix(metrics: Mapping[str, Any] | None, suffix: str) -> dict[str, Any] | None:
    if metrics is None:
        return None
    return {name.removesuffix(suffix): value for name, value in metrics.items() if name.endswith(suffix)}
