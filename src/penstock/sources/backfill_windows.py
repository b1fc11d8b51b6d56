"""The windows of a range, as work items of a backfill."""

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
    """A range and the length of its windows; can be iterated repeatedly."""

    start: RangeValue
    end: RangeValue
    step: Any

    def __iter__(self) -> Iterator[tuple[RangeValue, RangeValue]]:
        first: Any = self.start
        end: Any = self.end
        while first < end:
            # first + step may exceed the last date of the calendar.
            following = end if end - first <= self.step else first + self.step
            yield first, following
            first = following


def windows(start: RangeValue, end: RangeValue, every: int | timedelta) -> Windows[RangeValue]:
    """Divide the range from `start` to before `end` into windows of `every`, as pairs of start and end.

    The end of a window is the start of the next one and not part of the window; the last window may be
    shorter. `every` is an integer for integers, days or a `timedelta` for dates, a `timedelta` for datetimes.

    >>> list(windows(0, 10, 4))
    [(0, 4), (4, 8), (8, 10)]
    >>> [str(first) for first, _ in windows(date(2024, 1, 1), date(2024, 1, 20), 7)]
    ['2024-01-01', '2024-01-08', '2024-01-15']
    """
    return Windows(start, end, _window_step(start, end, every))


def _window_step(start: Any, end: Any, every: Any) -> Any:
    if type(start) is not type(end) or isinstance(start, bool) or not isinstance(start, (int, date)):
        raise UsageError(
            f"a range from a {type(start).__name__} to a {type(end).__name__} has no windows",
            hint="pass two dates, two datetimes or two integers",
        )
    day, is_date = timedelta(days=1), isinstance(start, date) and not isinstance(start, datetime)
    step = day * every if is_date and isinstance(every, int) else every
    step_type: Any = timedelta if isinstance(start, date) else int
    if not isinstance(step, step_type) or step <= step_type() or (is_date and step % day):
        raise UsageError(
            f"{every!r} is not a valid window length for {type(start).__name__} values",
            hint="pass a positive number for integers, whole days for dates, a timedelta for datetimes",
        )
    return step
