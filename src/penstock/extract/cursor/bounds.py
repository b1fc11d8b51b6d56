"""The range that a run reads: the last value minus a lag, the interval of a scheduler, and time zones."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any, Final

from penstock.errors import UsageError
from penstock.interfaces.scheduler import END_VARIABLE, START_VARIABLE, are_schedulers_allowed, interval

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.interfaces.cursor_options import CursorOptions


_DATE_PATTERN: Final = re.compile(r"^\d{4}-\d{2}-\d{2}$|^\d{8}$", re.ASCII)
_DATETIME_PATTERN: Final = re.compile(
    r"^\d{4}-\d{2}-\d{2}T\d{2}(?P<minute>:\d{2}(?P<second>:\d{2}(?P<fraction>\.\d+)?(?P<zone>Z|[+-]\d{2}:?\d{2})?)?)?$",
    re.ASCII,
)


def lagged_start(options: CursorOptions, last_value: Any) -> Any:
    """Return the value from which rows are read, never before the initial value.

    The unit of a lag is seconds for timestamps, days for dates and 1 for numbers. A lag has no effect with
    an end value or with a `last_value_func` of the user.
    """
    if not options.lag or last_value is None or not options.is_min_or_max or options.end_value is not None:
        return last_value
    shifted = _shift(last_value, options)
    initial = options.initial_value
    if initial is not None and options.last_value_func((initial, shifted)) == initial:
        return initial
    return shifted


def _shift(value: Any, options: CursorOptions) -> Any:
    by = -float(options.lag or 0) if options.is_max else float(options.lag or 0)
    if isinstance(value, bool) or not isinstance(value, (int, float, str, date)):
        raise _unsupported_value_error(value, options)
    if isinstance(value, int):
        return int(value + by)
    if isinstance(value, float):
        return value + by
    if isinstance(value, str):
        return _shift_text(value, by, options)
    if not isinstance(value, datetime):
        if _lag_unit(options) is datetime:
            return _shift_datetime(datetime.combine(value, time.min), by)
        return value + timedelta(days=by)
    if _lag_unit(options) is date:
        return _shift_by_days(value, by, is_lower=options.is_max)
    return _shift_datetime(value, by)


def _shift_text(value: str, by: float, options: CursorOptions) -> str:
    if _DATE_PATTERN.match(value):
        day = datetime.fromisoformat(value)
        shifted = day + (timedelta(seconds=by) if _lag_unit(options) is datetime else timedelta(days=by))
        return shifted.strftime("%Y-%m-%d" if "-" in value else "%Y%m%d")
    match = _DATETIME_PATTERN.match(value)
    if match is None:
        raise _unsupported_value_error(value, options)
    timestamp = datetime.fromisoformat(value)
    if _lag_unit(options) is date:
        return _format_like(_shift_by_days(timestamp, by, is_lower=options.is_max), match)
    return _format_like(_shift_datetime(timestamp, by), match)


def _format_like(timestamp: datetime, form: re.Match[str]) -> str:
    """Format a timestamp like the original text; a fraction has six digits."""
    if form["minute"] is None:
        return timestamp.strftime("%Y-%m-%dT%H")
    if form["second"] is None:
        return timestamp.strftime("%Y-%m-%dT%H:%M")
    text = timestamp.strftime("%Y-%m-%dT%H:%M:%S.%f" if form["fraction"] else "%Y-%m-%dT%H:%M:%S")
    zone = form["zone"]
    if not zone:
        return text
    offset = timestamp.strftime("%z")
    if zone == "Z":
        return f"{text}Z"
    return f"{text}{offset[:3]}:{offset[3:]}" if ":" in zone else f"{text}{offset}"


def _shift_datetime(timestamp: datetime, by: float) -> datetime:
    """Shift by elapsed seconds, which differ from seconds of wall time across a clock change."""
    if timestamp.tzinfo is None:
        return timestamp + timedelta(seconds=by)
    return (timestamp.astimezone(UTC) + timedelta(seconds=by)).astimezone(timestamp.tzinfo)


def _shift_by_days(timestamp: datetime, by: float, *, is_lower: bool) -> datetime:
    """Return the begin or the end of a day in UTC, so that all of that day is read again."""
    zone = timestamp.tzinfo
    local = timestamp if zone is None else timestamp.astimezone(UTC)
    edge = datetime.combine(
        local.date() + timedelta(days=by), time.min if is_lower else time.max, tzinfo=local.tzinfo
    )
    return edge if zone is None else edge.astimezone(zone)


def _lag_unit(options: CursorOptions) -> type | None:
    """Return `date` or `datetime` as the cursor declares it; None if the value decides."""
    kind, initial = options.effective_type, options.initial_value
    if isinstance(kind, type) and issubclass(kind, datetime):
        return datetime
    if isinstance(kind, type) and issubclass(kind, date):
        return date
    if isinstance(initial, str):
        if _DATE_PATTERN.match(initial):
            return date
        return datetime if _DATETIME_PATTERN.match(initial) else None
    return None


def _unsupported_value_error(value: Any, options: CursorOptions) -> UsageError:
    return UsageError(
        f"the lag of the incremental on {options.cursor_path} cannot be subtracted from {value!r}",
        hint="use a lag with numbers, dates, timestamps, or texts such as 2024-01-31T12:30:00Z",
    )


def with_scheduler_interval(
    options: CursorOptions, *, resource: str, environment: Mapping[str, str] = os.environ
) -> CursorOptions:
    """Return the options with the interval of the scheduler as their range, if that is allowed.

    The interval is clipped to the range that the options declare. Numbers are seconds since 1970.
    """
    if not _is_allowed(options, environment):
        return options
    bounds = interval(environment)
    if bounds is None:
        raise UsageError(
            f"the incremental of {resource} takes its range from a scheduler, but no interval is set",
            hint=f"set {START_VARIABLE} and {END_VARIABLE} to timestamps such as 2024-01-01T00:00:00Z, or "
            "remove allow_external_schedulers",
        )
    start, end = (_to_cursor_type(timestamp, options, resource) for timestamp in bounds)
    pick, initial, end_value = options.last_value_func, options.initial_value, options.end_value
    if initial is not None:
        start = align_timezone(start, initial)
        start = initial if pick((initial, start)) == initial else start
    if end_value is not None:
        end = align_timezone(end, end_value)
        end = end_value if pick((end_value, end)) == end else end
    return replace(options, initial_value=start, end_value=end)


def _is_allowed(options: CursorOptions, environment: Mapping[str, str]) -> bool:
    if options.allow_external_schedulers is not None:
        return options.allow_external_schedulers
    return are_schedulers_allowed(environment)


def _to_cursor_type(timestamp: datetime, options: CursorOptions, resource: str) -> Any:
    kind = options.effective_type
    if isinstance(kind, type) and not issubclass(kind, bool):
        if issubclass(kind, datetime):
            return in_declared_type(timestamp, options)
        if issubclass(kind, date):
            return timestamp.date()
        if issubclass(kind, int):
            return int(timestamp.timestamp())
        if issubclass(kind, float):
            return timestamp.timestamp()
    raise UsageError(
        f"the incremental of {resource} cannot take its range from a scheduler: its values are "
        f"{'of unknown type' if kind is None else getattr(kind, '__name__', kind)}",
        hint="declare the type: incremental[datetime]('field'); convert texts to timestamps with add_map",
    )


def in_declared_type(value: Any, options: CursorOptions) -> Any:
    """Return a date-time in the class that the cursor declares, such as that of pendulum, else the value."""
    kind = options.effective_type
    is_other = isinstance(kind, type) and issubclass(kind, datetime) and not isinstance(value, kind)
    return kind.combine(value.date(), value.timetz()) if is_other and isinstance(value, datetime) else value


def align_timezone(bound: Any, value: Any) -> Any:
    """Return the bound of a range with or without a time zone, as the data has it; naive values are UTC.

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
