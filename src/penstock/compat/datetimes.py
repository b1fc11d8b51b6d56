"""Dates and times of pendulum, from the forms that sources find them in."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta, tzinfo
from typing import TYPE_CHECKING, Any, TypeAlias

from penstock.compat import pendulum

if TYPE_CHECKING:
    from pendulum import Date, DateTime, Time

TAnyDateTime: TypeAlias = datetime | date | str | float | int
"""A date or date-time: an object, an ISO 8601 text, or seconds since 1970 as a number or text."""


def parse_iso_like_datetime(value: str) -> DateTime | Date | Time:
    """Parse a date, a time or a date-time in ISO 8601; none is added where the time zone is missing.

    >>> parse_iso_like_datetime("2024-01-02T03:04:05+02:00").isoformat()
    '2024-01-02T03:04:05+02:00'
    """
    parsed: Any = pendulum.parse(value, exact=True, tz=None)
    if isinstance(parsed, (date, time)):
        return parsed  # type: ignore[return-value] # pendulum returns its own classes
    raise ValueError(f"{value!r} is a duration, and no date or time")


def ensure_pendulum_datetime(value: TAnyDateTime, tz: tzinfo | None = None) -> DateTime:
    """Return a date-time in UTC, or in the time zone `tz`; a value without a time zone is one of it.

    >>> ensure_pendulum_datetime("2024-01-02T03:04:05+02:00").isoformat()
    '2024-01-02T01:04:05+00:00'
    >>> ensure_pendulum_datetime(0).isoformat(), ensure_pendulum_datetime(date(2024, 1, 2)).isoformat()
    ('1970-01-01T00:00:00+00:00', '2024-01-02T00:00:00+00:00')
    """
    moment = _parse_moment(value) if isinstance(value, str) else value
    zone = tz or pendulum.UTC
    match moment:
        case datetime():
            result: DateTime = pendulum.instance(moment, tz=zone).in_timezone(zone)
        case date():
            result = pendulum.datetime(moment.year, moment.month, moment.day, tz=zone)
        case int() | float():
            result = pendulum.from_timestamp(moment, tz=zone)
        case time():
            raise ValueError(f"{value!r} is a time without a date")
        case _:
            raise TypeError(f"{value!r} is no date, date-time, text or number")
    return result


def ensure_pendulum_datetime_utc(value: TAnyDateTime) -> DateTime:
    """Return a date-time in UTC.

    >>> ensure_pendulum_datetime_utc("2024-01-02").isoformat()
    '2024-01-02T00:00:00+00:00'
    """
    return ensure_pendulum_datetime(value)


def ensure_pendulum_date(value: TAnyDateTime) -> Date:
    """Return the date of a value, in its own time zone if it has one.

    >>> ensure_pendulum_date("2024-01-02T23:00:00-05:00").isoformat()
    '2024-01-02'
    """
    moment = _parse_moment(value) if isinstance(value, str) else value
    if isinstance(moment, date):
        result: Date = pendulum.date(moment.year, moment.month, moment.day)
        return result
    return ensure_pendulum_datetime(value).date()


def ensure_pendulum_time(value: str | time | timedelta) -> Time:
    """Return a time of day; a duration counts from midnight.

    >>> ensure_pendulum_time("12:30").isoformat(), ensure_pendulum_time(timedelta(hours=1)).isoformat()
    ('12:30:00', '01:00:00')
    """
    moment = (datetime.min + value).time() if isinstance(value, timedelta) else value
    if isinstance(moment, str):
        moment = parse_iso_like_datetime(moment)  # type: ignore[assignment]
    if not isinstance(moment, time):
        raise ValueError(f"{value!r} is no time of day")  # noqa: TRY004 - a text that is no time
    result: Time = pendulum.time(moment.hour, moment.minute, moment.second, moment.microsecond)
    return result


def timestamp_within(timestamp: float, min_exclusive: float | None, max_inclusive: float | None) -> bool:
    """Return whether a timestamp is after the first bound and not after the second; None is no bound.

    >>> timestamp_within(2, 1, 2), timestamp_within(1, 1, None)
    (True, False)
    """
    return (min_exclusive is None or timestamp > min_exclusive) and (
        max_inclusive is None or timestamp <= max_inclusive
    )


def _parse_moment(text: str) -> Any:
    """Return the date or time of a text, or the number of seconds since 1970 in it."""
    try:
        return parse_iso_like_datetime(text)
    except pendulum.parsing.exceptions.ParserError:
        try:
            return float(text)
        except ValueError:
            raise ValueError(f"{text!r} is no date or date-time in ISO 8601, and no number") from None
