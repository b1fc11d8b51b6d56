"""Folders that are named after days, and the window of days that is listed."""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from penstock.errors import UsageError

_DECEMBER: Final = 12
# Other numbers of four digits may be keys, for example of customers.
_YEARS: Final = range(1970, 2101)
_YEAR: Final = re.compile(r"(?:y|year)?=?(\d{4})")
_MONTH: Final = re.compile(r"(?:m|month)?=?(\d{1,2})")
_DAY: Final = re.compile(r"(?:d|day)?=?(\d{1,2})")
_WHOLE_MONTH: Final = re.compile(r"(?:[A-Za-z_]+=)?(\d{4})-(\d{2})")
_WHOLE_DAY: Final = re.compile(r"(?:[A-Za-z_]+=)?(\d{4})-?(\d{2})-?(\d{2})(?:[T _-].*)?")


@dataclass(frozen=True, slots=True)
class DateRange:
    """The first and the last day of a folder."""

    first: date
    last: date


def folder_dates(path: str) -> DateRange | None:
    """Return the days of a folder that is named after a day, a month or a year; None for other folders.

    >>> folder_dates("orders/year=2026/month=2/day=3")
    DateRange(first=datetime.date(2026, 2, 3), last=datetime.date(2026, 2, 3))
    >>> folder_dates("orders/2026/02")
    DateRange(first=datetime.date(2026, 2, 1), last=datetime.date(2026, 2, 28))
    >>> folder_dates("1042/dt=2026-11-17/hour=7") == folder_dates("2026/11/17"), folder_dates("orders/1042")
    (True, None)
    """
    names = path.split("/")
    return next((days for index in range(len(names)) if (days := _leading_dates(names[index:]))), None)


def _leading_dates(names: list[str]) -> DateRange | None:
    """Return the days of the first name, with a month and a day from the names that follow."""
    for pattern in (_WHOLE_DAY, _WHOLE_MONTH):
        if match := pattern.fullmatch(names[0]):
            return _calendar_range(*map(int, match.groups()))
    parts: list[int] = []
    for pattern, name in zip((_YEAR, _MONTH, _DAY), names, strict=False):
        match = pattern.fullmatch(name)
        if match is None:
            break
        parts.append(int(match[1]))
    return _calendar_range(*parts) if parts else None


def _calendar_range(year: int, month: int | None = None, day: int | None = None) -> DateRange | None:
    if year not in _YEARS or (month is not None and not 1 <= month <= _DECEMBER):
        return None
    last_month = month or _DECEMBER
    last_day = monthrange(year, last_month)[1]
    if day is not None and not 1 <= day <= last_day:
        return None
    return DateRange(date(year, month or 1, day or 1), date(year, last_month, day or last_day))


@dataclass(frozen=True, slots=True, kw_only=True)
class DayWindow:
    """The days before the newest folder read in which other folders are still listed."""

    days: int
    newest: date | None = None

    def includes(self, folder: str) -> bool:
        """Return whether a folder is listed. A folder that is not named after days always is.

        >>> DayWindow(days=2, newest=date(2026, 11, 17)).includes("2026/11/15")
        True
        >>> DayWindow(days=2, newest=date(2026, 11, 17)).includes("2026/11/14")
        False
        """
        dates = folder_dates(folder)
        if dates is None or self.newest is None:
            return True
        return dates.last >= self.newest - timedelta(days=self.days)


@dataclass(slots=True, kw_only=True)
class NewestDay:
    """The newest day in the names of folders.

    A month counts as its first day, because more of its days may follow. Days in the future are ignored:
    one misnamed folder would hide all others.

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
        """Observe the path of a file. Files of one folder mostly follow each other: its name is read once."""
        folder = path.rpartition("/")[0]
        if folder == self._folder:
            return
        self._folder, dates = folder, folder_dates(folder)
        if dates is not None and dates.first <= self.today:
            self.day = max(dates.first, self.day or dates.first)


def whole_days(window: int | timedelta | None) -> int | None:
    """Return a window in whole days, rounded up.

    >>> whole_days(3), whole_days(timedelta(hours=30)), whole_days(None)
    (3, 2, None)
    """
    days = -(-window // timedelta(days=1)) if isinstance(window, timedelta) else window
    if days is not None and days < 0:
        raise UsageError(f"window must not be negative, got {days} days", hint="set the days to look back")
    return days
