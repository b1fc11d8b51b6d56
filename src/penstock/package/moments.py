"""SQL that reads moments, dates and times of day, whichever way they are written; NULL where it is none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from penstock.package.sql import literal, rarely

if TYPE_CHECKING:
    from collections.abc import Callable

_BLANKS: Final = literal("^[\\s]+|[\\s]+$")
NUMBER: Final = literal(
    r"^[+-]?([0-9]+(_[0-9]+)*([.]([0-9]+(_[0-9]+)*)?)?|[.][0-9]+(_[0-9]+)*)([eE][+-]?[0-9]+)?$"
)
_ZONE: Final = r"(Z|[+-][0-9]{2}(?::?[0-9]{2})?)?"
_CLOCK: Final = r"(?:[T ]([0-9]{2})(?::([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]+))?)?)?" + _ZONE + ")?$"
_BASIC_CLOCK: Final = r"(?:[T ]([0-9]{2})(?::?([0-9]{2})(?:([0-9]{2})(?:[.,]([0-9]+))?)?)?" + _ZONE + ")?$"
_LOOSE_CLOCK: Final = r"(?: ?([0-9]{1,2}):([0-9]{1,2})(?::([0-9]{1,2}))?(?:[.,|]([0-9]{1,9}))?)?()$"
# In each: the year, two more parts of the day, hour, minute, second, its fraction, the zone.
_DAYS: Final = (
    r"^([0-9]{4})-([0-9]{2})(?:-([0-9]{2}))?" + _CLOCK,
    r"^([0-9]{4})([0-9]{2})([0-9]{2})" + _BASIC_CLOCK,
    r"^([0-9]{4})(?:[/:]?([0-9]{2})[/:]?([0-9]{2}))?" + _LOOSE_CLOCK,
)
_WEEKS: Final = (
    r"^([0-9]{4})-W([0-9]{2})(?:-([0-9]))?" + _CLOCK,
    r"^([0-9]{4})W([0-9]{2})([0-9])?" + _BASIC_CLOCK,
)
_ORDINALS: Final = (r"^([0-9]{4})-([0-9]{3})()" + _CLOCK, r"^([0-9]{4})([0-9]{3})()" + _BASIC_CLOCK)
_CLOCKS: Final = (
    r"^([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]+))?)?" + _ZONE + "$",
    r"^ ?([0-9]{1,2}):([0-9]{1,2})(?::([0-9]{1,2}))?(?:[.,|]([0-9]{1,9}))?()$",
    r"^T([0-9]{2})(?::?([0-9]{2})(?:([0-9]{2})(?:[.,]([0-9]+))?)?)?" + _ZONE + "$",
)
# Not the years in which a zone may lead out of the calendar.
_PLAIN: Final = (
    r"^(?!0000|0001|9999)[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.][0-9]{1,6})?"
)
_PLAIN_MOMENT: Final = literal(_PLAIN + r"(?:Z|[+-](?:0[0-9]|1[0-7]):[0-5][0-9])$")
_PLAIN_WITHOUT_ZONE: Final = literal(_PLAIN + "$")
_SECOND: Final = 1_000_000
_FIRST_SECOND, _LAST_SECOND = -62_135_596_800, 253_402_300_799


def trimmed(text: str) -> str:
    """A text without blanks around it."""
    return f"regexp_replace({text}, {_BLANKS}, '')"


def timestamp_from_seconds(value: str) -> str:
    """Seconds since 1970, rounded to microseconds."""
    inside = f"{value} BETWEEN {_FIRST_SECOND} AND {_LAST_SECOND}"
    micros = f"CAST(bround(CAST({value} AS DOUBLE) * 1000000) AS BIGINT)"
    return f"CASE WHEN {inside} THEN timestamp_micros({micros}) END"


def timestamp_from_bigint(value: str) -> str:
    """Whole seconds since 1970."""
    inside = f"{value} BETWEEN {_FIRST_SECOND} AND {_LAST_SECOND}"
    return f"CASE WHEN {inside} THEN timestamp_micros({value} * 1000000) END"


def timestamp_from_date(text: str) -> str:
    """The midnight with which a date begins."""
    return f"CAST(concat({text}, 'T00:00:00Z') AS TIMESTAMP)"


def _moment(text: str, shape: str) -> str:
    def group(number: int) -> str:
        return f"regexp_extract({text}, {literal(shape)}, {number})"

    def two(number: int, otherwise: str) -> str:
        return f"lpad(coalesce(nullif({group(number)}, ''), '{otherwise}'), 2, '0')"

    fraction = f"coalesce(nullif(left({group(7)}, 6), ''), '0')"
    clock = f"concat({two(4, '0')}, ':', {two(5, '0')}, ':', {two(6, '0')}, '.', {fraction})"
    local = f"try_cast(concat({_day(shape, group, two)}, 'T', {clock}, 'Z') AS TIMESTAMP)"
    micros = f"(unix_micros({local}) - {_offset(group(8))})"
    inside = f"{micros} BETWEEN {_FIRST_SECOND * _SECOND} AND {_LAST_SECOND * _SECOND + _SECOND - 1}"
    return f"CASE WHEN {inside} THEN timestamp_micros({micros}) END"


def _day(shape: str, group: Callable[[int], str], two: Callable[[int, str], str]) -> str:
    """SQL for the text of a date; one of a week or of a day of the year has to be counted."""
    if shape in _DAYS:
        return f"concat({group(1)}, '-', {two(2, '01')}, '-', {two(3, '01')})"
    number = f"try_cast({group(2)} AS INT)"
    if shape in _ORDINALS:
        found = f"date_add(try_cast(concat({group(1)}, '-01-01') AS DATE), {number} - 1)"
        return f"CASE WHEN {number} > 0 AND year({found}) = {group(1)} THEN CAST({found} AS STRING) END"
    weekday = f"CAST(coalesce(nullif({group(3)}, ''), '1') AS INT)"
    # The fourth of January is always in the first week.
    first = f"trunc(try_cast(concat({group(1)}, '-01-04') AS DATE), 'WEEK')"
    found = f"date_add({first}, ({number} - 1) * 7 + {weekday} - 1)"
    same = f"extract(YEAROFWEEK FROM {found}) = {group(1)} AND weekofyear({found}) = {number}"
    return f"CASE WHEN {weekday} BETWEEN 1 AND 7 AND {same} THEN CAST({found} AS STRING) END"


def _offset(zone: str) -> str:
    """SQL for the microseconds by which a zone is ahead; NULL where it is a day or more."""
    digits = f"rpad(replace(substring({zone}, 2), ':', ''), 4, '0')"
    minutes = f"(CAST(left({digits}, 2) AS BIGINT) * 60 + CAST(right({digits}, 2) AS BIGINT))"
    sign = f"CASE WHEN startswith({zone}, '-') THEN -1 ELSE 1 END"
    return (
        f"CASE WHEN {zone} IN ('', 'Z') THEN 0"
        f" WHEN {minutes} < {24 * 60} THEN {minutes} * {60 * _SECOND} * {sign} END"
    )


def _moment_from_text(text: str) -> str:
    """The moment that a text tells; one without a zone is in UTC, a date is its midnight."""
    shapes = (*_DAYS, *_WEEKS, *_ORDINALS)
    cases = " ".join(f"WHEN {text} RLIKE {literal(shape)} THEN {_moment(text, shape)}" for shape in shapes)
    return f"CASE {cases} END"


def timestamp_from_text(text: str) -> str:
    """The moment that a text tells, or the seconds since 1970 that it counts."""
    # Nearly all moments are written in ways that need no rewriting.
    return (
        f"CASE WHEN {text} RLIKE {_PLAIN_MOMENT} THEN try_cast({text} AS TIMESTAMP)"
        f" WHEN {text} RLIKE {_PLAIN_WITHOUT_ZONE} THEN try_cast(concat({text}, 'Z') AS TIMESTAMP)"
        f" WHEN {text} IS NOT NULL THEN {rarely(text, _odd_timestamp_from_text)} END"
    )


def _odd_timestamp_from_text(text: str) -> str:
    digits = trimmed(text)
    seconds = f"CASE WHEN {digits} RLIKE {NUMBER} THEN try_cast(replace({digits}, '_', '') AS DOUBLE) END"
    shapes = "|".join((*_DAYS, *_WEEKS, *_ORDINALS))
    return (
        f"coalesce(CASE WHEN {text} RLIKE {literal(shapes)} THEN {_moment_from_text(text)} END,"
        f" {timestamp_from_seconds(f'({seconds})')})"
    )


def midnight(moment: str) -> str:
    """The date of a moment, if it is the midnight with which that begins."""
    is_midnight = f"unix_micros({moment}) % 86400000000 = 0"
    days = f"CAST(unix_micros({moment}) div 86400000000 AS INT)"
    return f"CASE WHEN {is_midnight} THEN date_from_unix_date({days}) END"


def time_from_text(text: str) -> str:
    """The time of day in UTC that a text tells."""
    cases = " ".join(f"WHEN {text} RLIKE {literal(shape)} THEN {_time(text, shape)}" for shape in _CLOCKS)
    return f"CASE {cases} END"


def _time(text: str, shape: str) -> str:
    def group(number: int) -> str:
        return f"regexp_extract({text}, {literal(shape)}, {number})"

    clock = (
        f"concat(lpad({group(1)}, 2, '0'), ':', lpad({group(2)}, 2, '0'), ':', lpad({group(3)}, 2, '0'), '.',"
        f" coalesce(nullif(left({group(4)}, 6), ''), '0'))"
    )
    local = f"try_cast(concat('2000-01-02T', {clock}, 'Z') AS TIMESTAMP)"
    micros = f"((unix_micros({local}) - {_offset(group(5))}) % 86400000000)"
    seconds = f"({micros} div 1000000)"
    fraction = (
        f"CASE WHEN {micros} % 1000000 != 0 THEN concat('.', lpad({micros} % 1000000, 6, '0')) ELSE '' END"
    )
    return (
        f"concat(lpad({seconds} div 3600, 2, '0'), ':', lpad(({seconds} div 60) % 60, 2, '0'), ':',"
        f" lpad({seconds} % 60, 2, '0'), {fraction})"
    )
