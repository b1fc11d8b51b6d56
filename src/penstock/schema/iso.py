"""Parsers of dates and times in text: exactly the formats that dlt reads."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, timezone
from typing import Final

_ZONE: Final = r"(?P<zone>Z|[+-]\d\d(?::?\d\d)?)?"
# A colon after the hour is allowed only if no seconds follow.
_BASIC_CLOCK: Final = (
    r"(?P<hour>\d\d)(?::(?P<late>\d\d)|(?P<minute>\d\d)(?:(?P<second>\d\d)(?:[.,](?P<fraction>\d+))?)?)?"
)
_EXTENDED: Final = re.compile(
    r"(?P<year>\d{4})-"
    r"(?:(?P<month>\d\d)(?:-(?P<day>\d\d))?|W(?P<week>\d\d)(?:-(?P<weekday>\d))?|(?P<ordinal>\d{3}))"
    r"(?:[T ](?P<hour>\d\d)(?::(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,](?P<fraction>\d+))?)?)?"
    + _ZONE
    + r")?",
    re.ASCII,
)
_BASIC: Final = re.compile(
    r"(?P<year>\d{4})"
    r"(?:(?P<month>\d\d)(?P<day>\d\d)|W(?P<week>\d\d)(?P<weekday>\d)?|(?P<ordinal>\d{3}))"
    r"(?:[T ]" + _BASIC_CLOCK + _ZONE + r")?",
    re.ASCII,
)
_SLASHED: Final = re.compile(
    r"(?P<year>\d{4})(?:[/:]?(?P<month>\d\d)[/:]?(?P<day>\d\d))?"
    r"(?: ?(?P<hour>\d{1,2}):(?P<minute>\d{1,2})(?::(?P<second>\d{1,2}))?(?:[.,|](?P<fraction>\d{1,9}))?)?",
    re.ASCII,
)
_TIME: Final = re.compile(
    r"(?P<hour>\d\d):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,](?P<fraction>\d+))?)?" + _ZONE, re.ASCII
)
_LOOSE_TIME: Final = re.compile(
    r" ?(?P<hour>\d{1,2}):(?P<minute>\d{1,2})(?::(?P<second>\d{1,2}))?(?:[.,|](?P<fraction>\d{1,9}))?",
    re.ASCII,
)
_BASIC_TIME: Final = re.compile("T" + _BASIC_CLOCK + _ZONE, re.ASCII)
# A cheap test first: most texts are neither dates nor times.
_DATE_PREFIX: Final = re.compile(r"\d{4}", re.ASCII)
_MINUTES_PER_DAY: Final = 24 * 60


def parse_date_or_datetime(text: str) -> datetime | date | None:
    """Return the date or datetime of a text; None if it is neither.

    A datetime without a zone is returned without one. Digits below microseconds are cut off.

    >>> parse_date_or_datetime("2024-01-02T03:04Z")
    datetime.datetime(2024, 1, 2, 3, 4, tzinfo=datetime.timezone.utc)
    >>> parse_date_or_datetime("20240102"), parse_date_or_datetime("2 Jan 2024")
    (datetime.date(2024, 1, 2), None)
    """
    if not _DATE_PREFIX.match(text):
        return None
    for pattern in (_EXTENDED, _BASIC, _SLASHED):
        match = pattern.fullmatch(text)
        if match:
            try:
                return _date_or_datetime(match.groupdict())
            except (ValueError, OverflowError):
                return None
    return None


def parse_time(text: str) -> time | None:
    """Return the time of day of a text, converted to UTC if it has a zone; None if it is none."""
    patterns = (_TIME, _LOOSE_TIME, _BASIC_TIME)
    match = next(filter(None, (pattern.fullmatch(text) for pattern in patterns)), None)
    if not match:
        return None
    parts = match.groupdict()
    try:
        clock, zone = _time_of_day(parts), _utc_offset(parts)
    except ValueError:
        return None
    moment = datetime.combine(date(2000, 1, 2), clock, tzinfo=zone or UTC)
    return moment.astimezone(UTC).time()


def _date_or_datetime(parts: dict[str, str | None]) -> datetime | date:
    day = _date(parts)
    if parts.get("hour") is None:
        return day
    return datetime.combine(day, _time_of_day(parts), tzinfo=_utc_offset(parts))


def _date(parts: dict[str, str | None]) -> date:
    year = int(parts["year"] or 0)
    if parts.get("week"):
        return date.fromisocalendar(year, int(parts["week"] or 0), int(parts["weekday"] or 1))
    if parts.get("ordinal"):
        first, days = date(year, 1, 1), int(parts["ordinal"] or 0)
        day = first + timedelta(days=days - 1)
        if days < 1 or day.year != year:
            raise ValueError(days)
        return day
    return date(year, int(parts.get("month") or 1), int(parts.get("day") or 1))


def _time_of_day(parts: dict[str, str | None]) -> time:
    micros = (parts.get("fraction") or "0")[:6].ljust(6, "0")
    minute = parts.get("minute") or parts.get("late") or 0
    return time(int(parts["hour"] or 0), int(minute), int(parts["second"] or 0), int(micros))


def _utc_offset(parts: dict[str, str | None]) -> timezone | None:
    text = parts.get("zone")
    if not text:
        return None
    if text == "Z":
        return UTC
    digits = text[1:].replace(":", "").ljust(4, "0")
    minutes = int(digits[:2]) * 60 + int(digits[2:])
    if minutes >= _MINUTES_PER_DAY:
        raise ValueError(text)
    return timezone(timedelta(minutes=minutes if text[0] == "+" else -minutes))
