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

    from penstock.interfaces.landing import LandedFrame


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

    missing: Literal["raise", "include", "exclude"] = "raise"
    key: tuple[str, ...] | None = None
    """The columns of the key; None for all columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameSeen:
    """What came of a frame: how far its rows go, and how many have no value."""

    furthest: Any
    missing: int


class FrameCursors(Protocol):
    """Filters and aggregates of Spark. A module with these functions is one."""

    def new_rows(self, frame: DataFrame, bounds: FrameBounds, *, known: Iterable[bytes] = ()) -> DataFrame:
        """The rows of the range, without those at its start whose hashes are known."""

    def aggregates(self, frame: DataFrame, bounds: FrameBounds) -> dict[str, Column]:
        """What is observed while they are written."""

    def seen_of(self, values: Mapping[str, Any], frame: DataFrame, bounds: FrameBounds) -> FrameSeen:
        """What was observed, in values of Python."""

    def read_back(self, frame: DataFrame, landed: LandedFrame, bounds: FrameBounds) -> dict[str, Any]:
        """What was not observed, from the files that the frame was written to."""

    def hashes_in(
        self, frame: DataFrame, landed: LandedFrame, bounds: FrameBounds, last_value: Any
    ) -> Iterator[bytes]:
        """The hashes of the rows in the files that have the last value."""


_known: list[Callable[[], FrameCursors]] = []


def use_frame_cursors(opened: Callable[[], FrameCursors]) -> None:
    """Name who knows Spark; it is asked for when the first DataFrame comes to a cursor."""
    _known[:] = [opened]


def frame_cursors() -> FrameCursors:
    """Who knows Spark."""
    if not _known:
        raise InternalError("nobody can filter a DataFrame yet", hint="import penstock, not one of its rooms")
    return _known[0]()
