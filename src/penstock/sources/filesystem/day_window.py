"""Folders that are named after days: which of them are too old to be listed."""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from penstock.errors import UsageError

_DECEMBER: Final = 12
# Other numbers of four digits are keys of customers, say, and no years.
_YEARS: Final = range(1970, 2101)
_YEAR: Final = re.compile(r"(?:y|year)?=?(\d{4})")
_MONTH: Final = re.compile(r"(?:m|month)?=?(\d{1,2})")
_DAY: Final = re.compile(r"(?:d|day)?=?(\d{1,2})")
_WHOLE_MONTH: Final = re.compile(r"(?:[A-Za-z_]+=)?(\d{4})-(\d{2})")
_WHOLE_DAY: Final = re.compile(r"(?:[A-Za-z_]+=)?(\d{4})-?(\d{2})-?(\d{2})(?:[T _-].*)?")


@dataclass(frozen=True, slots=True)
class DateRange:
    """The days that a folder is named after."""

    first: date
    last: date


def folder_dates(path: str) -> DateRange | None:
    """The days of a folder that is named after a day, a month or a year; None where it is not.

    >>> folder_dates("orders/year=2026/month=2/day=3")
    DateRange(first=datetime.date(2026, 2, 3), last=datetime.date(2026, 2, 3))
    >>> folder_dates("orders/2026/02")
    DateRange(first=datetime.date(2026, 2, 1), last=datetime.date(2026, 2, 28))
    >>> folder_dates("1042/dt=2026-11-17/hour=7") == folder_dates("2026/11/17"), folder_dates("orders/1042")
    (True, None)
    """
    names = path.split("/")
    return next((span for at in range(len(names)) if (span := _leading_dates(names[at:]))), None)


def _leading_dates(names: list[str]) -> DateRange | None:
    """What the first of these names says, together with a month and a day that follow it."""
    for form in (_WHOLE_DAY, _WHOLE_MONTH):
        if found := form.fullmatch(names[0]):
            return _calendar_range(*map(int, found.groups()))
    parts: list[int] = []
    for form, name in zip((_YEAR, _MONTH, _DAY), names, strict=False):
        found = form.fullmatch(name)
        if found is None:
            break
        parts.append(int(found[1]))
    return _calendar_range(*parts) if parts else None


def _calendar_range(year: int, month: int | None = None, day: int | None = None) -> DateRange | None:
    if year not in _YEARS or (month is not None and not 1 <= month <= _DECEMBER):
        return None
    last = month or _DECEMBER
    end = monthrange(year, last)[1]
    if day is not None and not 1 <= day <= end:
        return None
    return DateRange(date(year, month or 1, day or 1), date(year, last, day or end))


@dataclass(frozen=True, slots=True, kw_only=True)
class DayWindow:
    """How far behind the newest folder that was read others are still listed."""

    days: int
    newest: date | None = None

    def includes(self, folder: str) -> bool:
        """Whether a folder is listed. One that is not named after days always is.

        >>> DayWindow(days=2, newest=date(2026, 11, 17)).includes("2026/11/15")
        True
        >>> DayWindow(days=2, newest=date(2026, 11, 17)).includes("2026/11/14")
        False
        """
        span = folder_dates(folder)
        if span is None or self.newest is None:
            return True
        return span.last >= self.newest - timedelta(days=self.days)


@dataclass(slots=True, kw_only=True)
class NewestDay:
    """The newest day that the folders of files are named after.

    A month counts by its first day, for days of it may follow. A day that has not come yet does not count:
    one folder with a slip in its name would hide all others.

    >>> newest = NewestDay(today=date(2026, 11, 17))
    >>> for path in ("2026/11/03/a.csv", "2026/11/01/a.csv", "2062/11/03/a.csv", "a.csv"):
    ...     newest.observe(path)
    >>> newest.day
    datetime.date(2026, 11, 3)
    """

    today: date
    day: date | None = None
    _folder: str = ""

    def observe(self, path: str) -> None:
        """Take a file. Those of one folder mostly come together, so its name is read once."""
        folder = path.rpartition("/")[0]
        if folder == self._folder:
            return
        self._folder, span = folder, folder_dates(folder)
        if span is not None and span.first <= self.today:
            self.day = max(span.first, self.day or span.first)


def whole_days(window: int | timedelta | None) -> int | None:
    """A window in whole days.

    >>> whole_days(3), whole_days(timedelta(hours=30)), whole_days(None)
    (3, 2, None)
    """
    days = -(-window // timedelta(days=1)) if isinstance(window, timedelta) else window
    if days is not None and days < 0:
        raise UsageError(f"a window of {days} days looks ahead", hint="say how many days to look back")
    return days
