"""The range that a scheduler gives: a run of an interval reads the rows of that interval, and no others."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from penstock.errors import UsageError
from penstock.extract.cursor.timezones import align_timezone

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.interfaces.cursor_options import CursorOptions

START_VARIABLE: Final = "DLT_INTERVAL_START"
END_VARIABLE: Final = "DLT_INTERVAL_END"
TIMEZONE_VARIABLE: Final = "DLT_INTERVAL_TIMEZONE"
ALLOW_VARIABLE: Final = "DLT_ALLOW_EXTERNAL_SCHEDULERS"
_TRUE_VALUES: Final = frozenset(("true", "1", "yes", "y", "t", "on"))


def with_scheduler_interval(
    terms: CursorOptions, *, resource: str, environment: Mapping[str, str] = os.environ
) -> CursorOptions:
    """The terms with the interval of the scheduler as their range, where that is allowed.

    The interval is cut to what the terms say themselves. Numbers count seconds since 1970.
    """
    if not _is_allowed(terms, environment):
        return terms
    interval = _interval(environment)
    if interval is None:
        raise UsageError(
            f"the incremental of {resource} is to take its range from a scheduler, and there is none",
            hint=f"set {START_VARIABLE} and {END_VARIABLE} to moments such as 2024-01-01T00:00:00Z, or leave "
            "allow_external_schedulers out",
        )
    start, end = (_to_cursor_type(moment, terms, resource) for moment in interval)
    pick, initial, last = terms.last_value_func, terms.initial_value, terms.end_value
    if initial is not None:
        start = align_timezone(start, initial)
        start = initial if pick((initial, start)) == initial else start
    if last is not None:
        end = align_timezone(end, last)
        end = last if pick((last, end)) == end else end
    return replace(terms, initial_value=start, end_value=end)


def _is_allowed(terms: CursorOptions, environment: Mapping[str, str]) -> bool:
    if terms.allow_external_schedulers is not None:
        return terms.allow_external_schedulers
    return environment.get(ALLOW_VARIABLE, "").lower() in _TRUE_VALUES


def _interval(environment: Mapping[str, str]) -> tuple[datetime, datetime] | None:
    start, end = environment.get(START_VARIABLE), environment.get(END_VARIABLE)
    if not start or not end:
        return None
    try:
        zone = ZoneInfo(environment[TIMEZONE_VARIABLE]) if environment.get(TIMEZONE_VARIABLE) else UTC
        return _parse_datetime(start).astimezone(zone), _parse_datetime(end).astimezone(zone)
    except (ValueError, ZoneInfoNotFoundError) as error:
        raise UsageError(
            f"{START_VARIABLE}, {END_VARIABLE} and {TIMEZONE_VARIABLE} do not say an interval: {error}",
            hint="use moments such as 2024-01-01T00:00:00Z, and time zones such as Europe/Berlin",
        ) from error


def _parse_datetime(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _to_cursor_type(moment: datetime, terms: CursorOptions, resource: str) -> Any:
    kind = terms.effective_type
    if isinstance(kind, type) and not issubclass(kind, bool):
        if issubclass(kind, datetime):
            return moment
        if issubclass(kind, date):
            return moment.date()
        if issubclass(kind, int):
            return int(moment.timestamp())
        if issubclass(kind, float):
            return moment.timestamp()
    raise UsageError(
        f"the incremental of {resource} is to take its range from a scheduler, and its values are "
        f"{'of unknown type' if kind is None else getattr(kind, '__name__', kind)}",
        hint="say the type: incremental[datetime]('field'); convert texts to moments with add_map",
    )
