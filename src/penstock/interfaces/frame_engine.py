"""The engine of Spark DataFrames: writes them as files, and filters them by cursors.

`extract` runs without Spark. A pipeline passes an engine to it, as it passes the way to the executors.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from penstock.errors import InternalError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    import pyarrow as pa
    from pyspark.sql import Column, DataFrame


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameWriteResult:
    """A DataFrame that was written to files."""

    address: str
    """The folder of the files."""
    columns: Mapping[str, Any]
    """The schema document of the files; see `interfaces.file_schema`."""
    rows: int | None
    """None if Spark did not report the count."""
    conf: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Hadoop settings that open the folder."""
    quarantined_rows: int | None = 0
    """Rows that go to quarantine and were not written; None if Spark did not report the count."""
    observed: Mapping[str, Any] | None = None
    """The aggregates of the hook; None if Spark did not report them, or without a hook."""
    has_system_columns: bool = False
    """Whether the files have the system columns too, so that a table can take them as they are."""


class QuarantiningFrame:
    """A DataFrame with rows that do not fit its table: they are quarantined and counted.

    The column `quarantine_column` is null in good rows and is not written. With `is_text` the only other
    column is `row`, with rows as JSON texts. `quarantine_rows` returns, for a resource and a table, the rows
    of `_dlt_quarantine` as JSON texts; it is called only if such rows exist.
    """

    __slots__ = ("frame", "is_text", "quarantine_column", "quarantine_rows")

    def __init__(
        self,
        frame: Any,
        *,
        quarantine_column: str | None = None,
        quarantine_rows: Callable[[str, str], Any] | None = None,
        is_text: bool = False,
    ) -> None:
        self.frame, self.is_text = frame, is_text
        self.quarantine_column, self.quarantine_rows = quarantine_column, quarantine_rows


class FrameHook(Protocol):
    """Observes a DataFrame during its write."""

    def before(self, frame: DataFrame) -> tuple[DataFrame, Mapping[str, Column]]:
        """Return the frame to write instead, and aggregates of its columns to observe during the write."""

    def after(self, result: FrameWriteResult) -> None:
        """Take the result. Aggregates that were not observed can be computed from the files."""


class RowSender(Protocol):
    """Sends rows through a Spark session to storage that only the session can write."""

    def __call__(self, rows: pa.Table, address: str) -> None:
        """Add rows to the files of a folder; they are on storage when this returns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CursorRange:
    """The values of a cursor to read; None is no bound."""

    column: str
    is_max: bool = True
    start: Any = None
    end: Any = None
    is_start_open: bool = False
    is_end_open: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameBounds(CursorRange):
    """A cursor over a DataFrame: its range, and the key of rows."""

    on_missing: Literal["raise", "include", "exclude"] = "raise"
    key: tuple[str, ...] | None = None
    """The columns of the key; None for all columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameObservation:
    """The last value of the rows of a written frame, and the number of rows without a value."""

    last_value: Any
    missing_count: int


class FrameCursorEngine(Protocol):
    """Filters and aggregates of Spark for cursors. A module with these functions implements it."""

    def new_rows(
        self, frame: DataFrame, bounds: FrameBounds, *, known_hashes: Iterable[bytes] = ()
    ) -> DataFrame:
        """Return the rows of the range, without rows at its start whose hashes are known."""

    def aggregates(self, frame: DataFrame, bounds: FrameBounds) -> dict[str, Column]:
        """Return the aggregates to observe during the write."""

    def observation(
        self, values: Mapping[str, Any], frame: DataFrame, bounds: FrameBounds
    ) -> FrameObservation:
        """Convert observed values to Python."""

    def aggregates_from_files(
        self, frame: DataFrame, result: FrameWriteResult, bounds: FrameBounds
    ) -> dict[str, Any]:
        """Compute the aggregates from the written files, if they were not observed."""

    def boundary_hashes(
        self, frame: DataFrame, result: FrameWriteResult, bounds: FrameBounds, last_value: Any
    ) -> Iterator[bytes]:
        """Yield the hashes of the written rows that have the last value."""


class FrameEngine(Protocol):
    """Writes DataFrames, and filters them by cursors."""

    @property
    def cursors(self) -> FrameCursorEngine:
        """The filters and aggregates of cursors."""

    def write_frame(
        self,
        frame: Any,
        address: str,
        *,
        hook: FrameHook | None = None,
        conf: Mapping[str, str] | None = None,
        quarantine_column: str | None = None,
        system_columns: Mapping[str, str] | None = None,
    ) -> FrameWriteResult:
        """Write a DataFrame as typed files to a new folder; `conf` are Hadoop settings that open it.

        Rows with a value in `quarantine_column` are counted and not written. `system_columns` are written too
        if a table can take the other columns as they are: SQL by name.
        """


def require_frame_engine(engine: FrameEngine | None) -> FrameEngine:
    """Return the engine; raise an error if a Spark DataFrame was read without one."""
    if engine is None:
        raise InternalError(
            "a Spark DataFrame was read, and no engine for DataFrames was passed",
            hint="pass frame_engine=SparkFrameEngine() to Extractor",
        )
    return engine
