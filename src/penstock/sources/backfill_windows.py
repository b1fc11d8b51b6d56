"""A range cut into windows: the work items of a backfill."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from penstock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

RangeValue = TypeVar("RangeValue", int, date, datetime)


@dataclass(frozen=True, slots=True)
class Windows(Generic[RangeValue]):
    """A range and the length of its windows; may be iterated over as often as needed."""

    start: RangeValue
    end: RangeValue
    step: Any

    def __iter__(self) -> Iterator[tuple[RangeValue, RangeValue]]:
        first: Any = self.start
        end: Any = self.end
        while first < end:
            # A step may lead past the end of the calendar.
            until = end if end - first <= self.step else first + self.step
            yield first, until
            first = until


def windows(start: RangeValue, end: RangeValue, every: int | timedelta) -> Windows[RangeValue]:
    """Cut the range from `start` to before `end` into windows of `every`, as pairs of a start and an end.

    The end of a window is the start of the next one and does not belong to it; the last window may be
    shorter. For whole numbers `every` is one, for dates a number of days or a `timedelta`, for moments a
    `timedelta`.

    >>> list(windows(0, 10, 4))
    [(0, 4), (4, 8), (8, 10)]
    >>> [str(first) for first, _ in windows(date(2024, 1, 1), date(2024, 1, 20), 7)]
    ['2024-01-01', '2024-01-08', '2024-01-15']
    """
    return Windows(start, end, _window_step(start, end, every))


def _window_step(start: Any, end: Any, every: Any) -> Any:
    if type(start) is not type(end) or isinstance(start, bool) or not isinstance(start, (int, date)):
        raise UsageError(
            f"there are no windows from a {type(start).__name__} to a {type(end).__name__}",
            hint="give two dates, two datetimes or two whole numbers",
        )
    day, is_day = timedelta(days=1), isinstance(start, date) and not isinstance(start, datetime)
    step = day * every if is_day and isinstance(every, int) else every
    kind: Any = timedelta if isinstance(start, date) else int
    if not isinstance(step, kind) or step <= kind() or (is_day and step % day):
        raise UsageError(
            f"{every!r} is no length of a window of {type(start).__name__}s",
            hint="give a number above 0 for whole numbers, whole days for dates, a timedelta for moments",
        )
    return step
