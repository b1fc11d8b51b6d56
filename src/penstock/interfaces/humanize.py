"""Counts, bytes and durations as text for people."""

from __future__ import annotations

from typing import Final

_UNITS: Final = ("B", "KB", "MB", "GB", "TB", "PB")
_UNIT_FACTOR: Final = 1024


def human_count(count: int, noun: str) -> str:
    """Return a count with its noun; `what` is the singular.

    >>> human_count(1, "row"), human_count(12_345, "row")
    ('1 row', '12,345 rows')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def human_size(size: int) -> str:
    """Return a number of bytes as text.

    >>> human_size(0), human_size(1536), human_size(10 * 1024**4)
    ('0 B', '1.5 KB', '10.0 TB')
    """
    value, unit = float(size), 0
    while value >= _UNIT_FACTOR and unit < len(_UNITS) - 1:
        value, unit = value / _UNIT_FACTOR, unit + 1
    return f"{size} B" if unit == 0 else f"{value:.1f} {_UNITS[unit]}"


def human_seconds(seconds: float) -> str:
    """Return a duration as text.

    >>> human_seconds(0.4), human_seconds(75), human_seconds(7322)
    ('0.4 s', '1 min 15 s', '2 h 2 min')
    """
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(int(minutes), 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest:.0f} s" if minutes else f"{seconds:.1f} s"
