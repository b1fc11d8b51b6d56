"""Incremental cursors over Spark DataFrames: what extract wants to know, and who can tell.

`extract` runs without Spark, so `pipeline` names the module that knows it here, once, when it is imported.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from penstock.errors import InternalError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from pyspark.sql import Column, DataFrame

    from penstock.interfaces.frame_writer import FrameWriteResult


@dataclass(frozen=True, slots=True, kw_only=True)
class CursorRange:
    """The values of a cursor that are wanted; None is no bound."""

    column: str
    is_max: bool = True
    start: Any = None
    end: Any = None
    is_start_open: bool = False
    is_end_open: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameBounds(CursorRange):
    """A cursor as Spark needs it: its range, and what tells rows apart."""

    on_missing: Literal["raise", "include", "exclude"] = "raise"
    key: tuple[str, ...] | None = None
    """The columns of the key; None for all columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameObservation:
    """What came of a frame: how far its rows go, and how many have no value."""

    last_value: Any
    missing_count: int


class FrameCursorEngine(Protocol):
    """Filters and aggregates of Spark. A module with these functions is one."""

    def new_rows(
        self, frame: DataFrame, bounds: FrameBounds, *, known_hashes: Iterable[bytes] = ()
    ) -> DataFrame:
        """The rows of the range, without those at its start whose hashes are known."""

    def aggregates(self, frame: DataFrame, bounds: FrameBounds) -> dict[str, Column]:
        """What is observed while they are written."""

    def observation(
        self, values: Mapping[str, Any], frame: DataFrame, bounds: FrameBounds
    ) -> FrameObservation:
        """What was observed, in values of Python."""

    def aggregates_from_files(
        self, frame: DataFrame, result: FrameWriteResult, bounds: FrameBounds
    ) -> dict[str, Any]:
        """What was not observed, from the files that the frame was written to."""

    def boundary_hashes(
        self, frame: DataFrame, result: FrameWriteResult, bounds: FrameBounds, last_value: Any
    ) -> Iterator[bytes]:
        """The hashes of the rows in the files that have the last value."""


_factories: list[Callable[[], FrameCursorEngine]] = []


def register_frame_cursor_engine(factory: Callable[[], FrameCursorEngine]) -> None:
    """Name who knows Spark; it is asked for when the first DataFrame comes to a cursor."""
    _factories[:] = [factory]


def frame_cursor_engine() -> FrameCursorEngine:
    """Who knows Spark."""
    if not _factories:
        raise InternalError("nobody can filter a DataFrame yet", hint="import penstock, not one of its rooms")
    return _factories[0]()
