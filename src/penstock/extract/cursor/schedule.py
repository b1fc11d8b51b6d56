"""The range that a scheduler gives: a run of an interval reads the rows of that interval, and no others."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from penstock.errors import UsageError
from penstock.extract.cursor.moments import fitted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.interfaces.cursorterms import CursorTerms

START: Final = "DLT_INTERVAL_START"
END: Final = "DLT_INTERVAL_END"
ZONE: Final = "DLT_INTERVAL_TIMEZONE"
ALLOW: Final = "DLT_ALLOW_EXTERNAL_SCHEDULERS"
_YES: Final = frozenset(("true", "1", "yes", "y", "t", "on"))


def scheduled(
    terms: CursorTerms, *, resource: str, environment: Mapping[str, str] = os.environ
) -> CursorTerms:
    """The terms with the interval of the scheduler as their range, where that is allowed.

    The interval is cut to what the terms say themselves. Numbers count seconds since 1970.
    """
    if not _is_allowed(terms, environment):
        return terms
    interval = _interval(environment)
    if interval is None:
        raise UsageError(
            f"the incremental of {resource} is to take its range from a scheduler, and there is none",
            hint=f"set {START} and {END} to moments such as 2024-01-01T00:00:00Z, or leave "
            "allow_external_schedulers out",
        )
    start, end = (_as_kind(moment, terms, resource) for moment in interval)
    pick, initial, last = terms.last_value_func, terms.initial_value, terms.end_value
    if initial is not None:
        start = fitted(start, initial)
        start = initial if pick((initial, start)) == initial else start
    if last is not None:
        end = fitted(end, last)
        end = last if pick((last, end)) == end else end
    return replace(terms, initial_value=start, end_value=end)


def _is_allowed(terms: CursorTerms, environment: Mapping[str, str]) -> bool:
    if terms.allow_external_schedulers is not None:
        return terms.allow_external_schedulers
    return environment.get(ALLOW, "").lower() in _YES


def _interval(environment: Mapping[str, str]) -> tuple[datetime, datetime] | None:
    start, end = environment.get(START), environment.get(END)
    if not start or not end:
        return None
    try:
        zone = ZoneInfo(environment[ZONE]) if environment.get(ZONE) else UTC
        return _moment(start).astimezone(zone), _moment(end).astimezone(zone)
    except (ValueError, ZoneInfoNotFoundError) as error:
        raise UsageError(
            f"{START}, {END} and {ZONE} do not say an interval: {error}",
            hint="use moments such as 2024-01-01T00:00:00Z, and time zones such as Europe/Berlin",
        ) from error


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _as_kind(moment: datetime, terms: CursorTerms, resource: str) -> Any:
    kind = terms.kind
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
