"""Cursors over Spark DataFrames: rows are filtered by Spark, and observed while they are written."""

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
from penstock.interfaces.frame_engine import FrameBounds, FrameObservation
from penstock.interfaces.hints import key_columns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame

    from penstock.extract.cursor.progress import CursorProgress
    from penstock.interfaces.frame_engine import FrameCursorEngine, FrameWriteResult

_LOG = logger("penstock.extract")


class SparkFrameCursor:
    """Filters a DataFrame, and advances the cursor when the DataFrame is written."""

    def __init__(self, progress: CursorProgress, engine: FrameCursorEngine) -> None:
        self._progress, self._options, self._engine = progress, progress.options, engine
        if not self._options.is_min_or_max:
            raise UnsupportedData(
                data_type="Spark DataFrame", reason="its last_value_func must be max or min"
            )

    def new_rows(self, frame: DataFrame) -> DataFrame:
        """Return the lazy frame of new rows; their values are known only after the write."""
        progress, bounds = self._progress, self._bounds(frame)
        if progress.is_key_inferred and bounds.key is None and progress.deduplicates:
            _LOG.warning(
                "a step of %s removed a column of the key %s: rows at the last value of its cursor are "
                "identified by all columns; name other columns with primary_key",
                progress.resource,
                ", ".join(key_columns(self._options.primary_key)),
            )
        known_hashes = progress.boundary.earlier_digests() if progress.deduplicates else ()
        try:
            return self._engine.new_rows(frame, bounds, known_hashes=known_hashes)
        except TypeError as error:
            bound = progress.start_value if progress.start_value is not None else progress.end_value
            raise progress.coercion_error("initial_value or last value", bound, "a column", error) from error

    def aggregates(self, frame: DataFrame) -> dict[str, Column]:
        """Return the aggregates to observe during the write."""
        return self._engine.aggregates(frame, self._bounds(frame))

    def record_written(
        self, result: FrameWriteResult, frame: DataFrame, observed: Mapping[str, Any] | None
    ) -> bool:
        """Advance the cursor past the written rows; return whether any were written."""
        progress, bounds = self._progress, self._bounds(frame)
        values = self._engine.aggregates_from_files(frame, result, bounds) if observed is None else observed
        observation = self._engine.observation(values, frame, bounds)
        if observation.missing_count and self._options.on_cursor_value_missing == "raise":
            raise IncrementalCursorPathHasValueNone(resource=progress.resource, cursor_path=bounds.column)
        if observation.last_value is not None and self._advance(observation) and progress.deduplicates:
            for digest in self._engine.boundary_hashes(frame, result, bounds, progress.last_value):
                progress.boundary.add(digest)
        progress.clamp_to_previous()
        return observation.last_value is not None or bool(observation.missing_count)

    def _advance(self, observation: FrameObservation) -> bool:
        """Advance the cursor; return whether the rows reach its last value."""
        progress, pick = self._progress, self._options.last_value_func
        progress.align_timezones(observation.last_value)
        last = progress.last_value
        if last is None or pick((observation.last_value, last)) != last:
            progress.advance_to(observation.last_value)
            return True
        return bool(observation.last_value == last)

    def _bounds(self, frame: DataFrame) -> FrameBounds:
        progress, options = self._progress, self._options
        key = options.primary_key(frame) if callable(options.primary_key) else options.primary_key
        names = None if key is None else key_columns(key)
        column = progress.path.column
        if column is None or column not in frame.columns:
            raise IncrementalCursorPathMissing(
                resource=progress.resource, cursor_path=str(options.cursor_path)
            )
        missing = [name for name in names or () if name not in frame.columns]
        if missing and progress.is_key_inferred:
            # A step has dropped or renamed it: rows are identified by all columns.
            names = None
        elif missing and progress.deduplicates:
            raise IncrementalPrimaryKeyMissing(resource=progress.resource, key=missing[0])
        return FrameBounds(
            column=column,
            is_max=options.is_max,
            start=progress.start_value,
            end=progress.end_value,
            is_start_open=options.range_start == "open",
            is_end_open=options.range_end == "open",
            on_missing=options.on_cursor_value_missing,
            key=names,
        )


@dataclass(slots=True)
class CursorHook:
    """Observes a DataFrame during its write, for all cursors of a resource."""

    trackers: Sequence[Any]
    filters: bool = False
    """Whether the rows are filtered here, because they were not before."""
    frame: Any = None

    def before(self, frame: DataFrame) -> tuple[DataFrame, dict[str, Column]]:
        """Return the frame of new rows, and the aggregates of each cursor."""
        for tracker in self.trackers if self.filters else ():
            frame = tracker.spark_cursor.new_rows(frame)
        self.frame = frame
        return frame, {
            f"{name}_{number}": column
            for number, tracker in enumerate(self.trackers)
            for name, column in tracker.spark_cursor.aggregates(frame).items()
        }

    def after(self, result: FrameWriteResult) -> None:
        """Advance the cursors by the written frame."""
        for number, tracker in enumerate(self.trackers):
            observed = _metrics_with_suffix(result.observed, f"_{number}")
            tracker.record_item(tracker.spark_cursor.record_written(result, self.frame, observed))


def _metrics_with_suffix(metrics: Mapping[str, Any] | None, suffix: str) -> dict[str, Any] | None:
    if metrics is None:
        return None
    return {name.removesuffix(suffix): value for name, value in metrics.items() if name.endswith(suffix)}
