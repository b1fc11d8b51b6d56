"""Where a run starts that is to read some rows again: the last value, moved back."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from penstock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.interfaces.cursor_options import CursorOptions


_DATE_PATTERN: Final = re.compile(r"^\d{4}-\d{2}-\d{2}$|^\d{8}$", re.ASCII)
_DATETIME_PATTERN: Final = re.compile(
    r"^\d{4}-\d{2}-\d{2}T\d{2}(?P<minute>:\d{2}(?P<second>:\d{2}(?P<fraction>\.\d+)?(?P<zone>Z|[+-]\d{2}:?\d{2})?)?)?$",
    re.ASCII,
)
START_VARIABLE: Final = "DLT_INTERVAL_START"
END_VARIABLE: Final = "DLT_INTERVAL_END"
TIMEZONE_VARIABLE: Final = "DLT_INTERVAL_TIMEZONE"
ALLOW_VARIABLE: Final = "DLT_ALLOW_EXTERNAL_SCHEDULERS"
_TRUE_VALUES: Final = frozenset(("true", "1", "yes", "y", "t", "on"))


def lagged_start(terms: CursorOptions, last_value: Any) -> Any:
    """The value from which rows are read: never before the initial one.

    A lag counts seconds for moments, days for dates, and itself for numbers. It does nothing in a range,
    and nothing with a `last_value_func` of the user's.
    """
    if not terms.lag or last_value is None or not terms.is_min_or_max or terms.end_value is not None:
        return last_value
    moved = _shift(last_value, terms)
    initial = terms.initial_value
    if initial is not None and terms.last_value_func((initial, moved)) == initial:
        return initial
    return moved


def _shift(value: Any, terms: CursorOptions) -> Any:
    by = -float(terms.lag or 0) if terms.is_max else float(terms.lag or 0)
    if isinstance(value, bool) or not isinstance(value, (int, float, str, date)):
        raise _unsupported_value_error(value, terms)
    if isinstance(value, int):
        return int(value + by)
    if isinstance(value, float):
        return value + by
    if isinstance(value, str):
        return _shift_text(value, by, terms)
    if not isinstance(value, datetime):
        if _lag_unit(terms) is datetime:
            return _shift_datetime(datetime.combine(value, time.min), by)
        return value + timedelta(days=by)
    if _lag_unit(terms) is date:
        return _shift_by_days(value, by, is_lower=terms.is_max)
    return _shift_datetime(value, by)


def _shift_text(value: str, by: float, terms: CursorOptions) -> str:
    if _DATE_PATTERN.match(value):
        day = datetime.fromisoformat(value)
        moved = day + (timedelta(seconds=by) if _lag_unit(terms) is datetime else timedelta(days=by))
        return moved.strftime("%Y-%m-%d" if "-" in value else "%Y%m%d")
    found = _DATETIME_PATTERN.match(value)
    if found is None:
        raise _unsupported_value_error(value, terms)
    moment = datetime.fromisoformat(value)
    if _lag_unit(terms) is date:
        return _format_like(_shift_by_days(moment, by, is_lower=terms.is_max), found)
    return _format_like(_shift_datetime(moment, by), found)


def _format_like(moment: datetime, form: re.Match[str]) -> str:
    """The moment in the form that the text had; a fraction has six digits."""
    if form["minute"] is None:
        return moment.strftime("%Y-%m-%dT%H")
    if form["second"] is None:
        return moment.strftime("%Y-%m-%dT%H:%M")
    text = moment.strftime("%Y-%m-%dT%H:%M:%S.%f" if form["fraction"] else "%Y-%m-%dT%H:%M:%S")
    zone = form["zone"]
    if not zone:
        return text
    offset = moment.strftime("%z")
    if zone == "Z":
        return f"{text}Z"
    return f"{text}{offset[:3]}:{offset[3:]}" if ":" in zone else f"{text}{offset}"


def _shift_datetime(moment: datetime, by: float) -> datetime:
    """Seconds that have passed, not seconds on a clock that may have been changed in between."""
    if moment.tzinfo is None:
        return moment + timedelta(seconds=by)
    return (moment.astimezone(UTC) + timedelta(seconds=by)).astimezone(moment.tzinfo)


def _shift_by_days(moment: datetime, by: float, *, is_lower: bool) -> datetime:
    """The begin, or the end, of a day in UTC so many days away: all of it is read again."""
    zone = moment.tzinfo
    local = moment if zone is None else moment.astimezone(UTC)
    edge = datetime.combine(
        local.date() + timedelta(days=by), time.min if is_lower else time.max, tzinfo=local.tzinfo
    )
    return edge if zone is None else edge.astimezone(zone)


def _lag_unit(terms: CursorOptions) -> type | None:
    """Whether the cursor is declared to be one of days or of moments; None where the value decides."""
    kind, initial = terms.effective_type, terms.initial_value
    if isinstance(kind, type) and issubclass(kind, datetime):
        return datetime
    if isinstance(kind, type) and issubclass(kind, date):
        return date
    if isinstance(initial, str):
        if _DATE_PATTERN.match(initial):
            return date
        return datetime if _DATETIME_PATTERN.match(initial) else None
    return None


def _unsupported_value_error(value: Any, terms: CursorOptions) -> UsageError:
    return UsageError(
        f"the incremental on {terms.cursor_path} has a lag, and {value!r} cannot be moved back",
        hint="use a lag with numbers, dates, moments, and texts in the form 2024-01-31T12:30:00Z",
    )


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


def align_timezone(bound: Any, value: Any) -> Any:
    """The bound of a range in the form that the data has, with a time zone or without.

    >>> align_timezone(datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 2))
    datetime.datetime(2024, 1, 1, 0, 0)
    """
    if not (isinstance(bound, datetime) and isinstance(value, datetime)):
        return bound
    if value.tzinfo is None and bound.tzinfo is not None:
        return bound.astimezone(UTC).replace(tzinfo=None)
    if value.tzinfo is not None and bound.tzinfo is None:
        return bound.replace(tzinfo=UTC).astimezone(value.tzinfo)
    return bound
