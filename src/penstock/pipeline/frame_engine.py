"""The engine that a pipeline passes to `extract` for DataFrames, and iteration over sources with it."""

from __future__ import annotations

import threading
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from penstock.interfaces.run_context import current_context
from penstock.pipeline import late_imports

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from penstock.interfaces import Flow
    from penstock.interfaces.frame_engine import FrameCursorEngine, FrameHook, FrameWriteResult


class SparkFrameEngine:
    """Writes and filters DataFrames by Spark, which is imported when the first of them is read."""

    @property
    def cursors(self) -> FrameCursorEngine:
        """The filters and aggregates of cursors."""
        return late_imports.cursor

    def write_frame(
        self,
        frame: DataFrame,
        address: str,
        *,
        hook: FrameHook | None = None,
        conf: Mapping[str, str] | None = None,
        quarantine_column: str | None = None,
        system_columns: Mapping[str, str] | None = None,
    ) -> FrameWriteResult:
        """Write a DataFrame of a resource to files, by the session that it belongs to."""
        track_session = current_context().track_session
        with nullcontext() if track_session is None else track_session(frame.sparkSession):
            return late_imports.frame_writer.write_frame(
                frame,
                address,
                hook=hook,
                conf=conf,
                quarantine_column=quarantine_column,
                system_columns=system_columns,
            )


def read_items(flow: Flow) -> Iterator[Any]:
    """Return the items of a source that a user iterates over."""
    lock, sessions = threading.Lock(), dict[frozenset[tuple[str, str]], "SparkSession"]()

    def session(conf: Mapping[str, str]) -> SparkSession:
        # Frames that are combined must belong to one session.
        with lock:
            key = frozenset(conf.items())
            if key not in sessions:
                sessions[key] = late_imports.workspace.open_reading_session(flow.needs, conf)
            return sessions[key]

    return late_imports.extract_run.read_items(flow, session, SparkFrameEngine())
