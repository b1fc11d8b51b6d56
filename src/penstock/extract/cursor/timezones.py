"""Moments with and without a time zone meet: what is naive counts as UTC."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any


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
