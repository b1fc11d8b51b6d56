"""The interval of a scheduler: that of the program's block, or of the environment."""

from __future__ import annotations

import os
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from penstock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

START_VARIABLE: Final = "DLT_INTERVAL_START"
END_VARIABLE: Final = "DLT_INTERVAL_END"
TIMEZONE_VARIABLE: Final = "DLT_INTERVAL_TIMEZONE"
ALLOW_VARIABLE: Final = "DLT_ALLOW_EXTERNAL_SCHEDULERS"
_TRUE_VALUES: Final = frozenset(("true", "1", "yes", "y", "t", "on"))


class TTimeInterval(NamedTuple):
    """Two times with time zones; the end is not part of the interval."""

    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class TimeIntervalContext:
    """An interval, and whether cursors that leave it open take their range from it.

    None is the value of the environment. Times without a zone are in UTC. Set it for a block with
    `Container().injectable_context(...)`.

    >>> TimeIntervalContext(interval=(datetime(2024, 1, 1), datetime(2024, 1, 2))).interval.end
    datetime.datetime(2024, 1, 2, 0, 0, tzinfo=datetime.timezone.utc)
    """

    interval: TTimeInterval | tuple[datetime, datetime] | None = None
    allow_external_schedulers: bool | None = None

    def __post_init__(self) -> None:
        """Complete the times by their zone."""
        if self.interval is not None:
            object.__setattr__(self, "interval", TTimeInterval(*map(_in_a_zone, self.interval)))


_block: ContextVar[TimeIntervalContext] = ContextVar("penstock_interval", default=TimeIntervalContext())  # noqa: B039 - a frozen value


@contextmanager
def interval_block(context: TimeIntervalContext) -> Iterator[TimeIntervalContext]:
    """Set the interval of a block, also for the threads of its runs."""
    token = _block.set(context)
    try:
        yield context
    finally:
        _block.reset(token)


def interval_context() -> TimeIntervalContext:
    """Return the interval and the permission that hold here."""
    return TimeIntervalContext(interval(), are_schedulers_allowed())


def are_schedulers_allowed(environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether cursors that leave it open take their range from the scheduler."""
    allowed = _block.get().allow_external_schedulers
    return environment.get(ALLOW_VARIABLE, "").lower() in _TRUE_VALUES if allowed is None else allowed


def interval(environment: Mapping[str, str] = os.environ) -> TTimeInterval | None:
    """Return the interval of the scheduler, if any.

    >>> interval({"DLT_INTERVAL_START": "2024-01-01", "DLT_INTERVAL_END": "2024-01-02"}).start.isoformat()
    '2024-01-01T00:00:00+00:00'
    """
    if (of_block := _block.get().interval) is not None:
        return TTimeInterval(*of_block)
    start, end = environment.get(START_VARIABLE), environment.get(END_VARIABLE)
    if not start or not end:
        return None
    try:
        zone = ZoneInfo(environment[TIMEZONE_VARIABLE]) if environment.get(TIMEZONE_VARIABLE) else UTC
        return TTimeInterval(
            *(_in_a_zone(datetime.fromisoformat(text)).astimezone(zone) for text in (start, end))
        )
    except (ValueError, ZoneInfoNotFoundError) as error:
        raise UsageError(
            f"{START_VARIABLE}, {END_VARIABLE} and {TIMEZONE_VARIABLE} are not a valid interval: {error}",
            hint="use timestamps such as 2024-01-01T00:00:00Z and time zones such as Europe/Berlin",
        ) from error


def _in_a_zone(timestamp: datetime) -> datetime:
    return timestamp if timestamp.tzinfo else timestamp.replace(tzinfo=UTC)
