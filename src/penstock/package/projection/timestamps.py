"""SQL that parses timestamps, dates and times in all supported formats; NULL for other texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from penstock.package.sql import literal, out_of_line

if TYPE_CHECKING:
    from collections.abc import Callable

_OUTER_WHITESPACE: Final = literal("^[\\s]+|[\\s]+$")
NUMBER_PATTERN: Final = literal(
    r"^[+-]?([0-9]+(_[0-9]+)*([.]([0-9]+(_[0-9]+)*)?)?|[.][0-9]+(_[0-9]+)*)([eE][+-]?[0-9]+)?$"
)
_ZONE_PART: Final = r"(Z|[+-][0-9]{2}(?::?[0-9]{2})?)?"
_TIME_PART: Final = r"(?:[T ]([0-9]{2})(?::([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]+))?)?)?" + _ZONE_PART + ")?$"
_BASIC_TIME_PART: Final = (
    r"(?:[T ]([0-9]{2})(?::?([0-9]{2})(?:([0-9]{2})(?:[.,]([0-9]+))?)?)?" + _ZONE_PART + ")?$"
)
_LOOSE_TIME_PART: Final = r"(?: ?([0-9]{1,2}):([0-9]{1,2})(?::([0-9]{1,2}))?(?:[.,|]([0-9]{1,9}))?)?()$"
# Groups: year, two more parts of the date, hour, minute, second, fraction, zone.
_DATE_FORMATS: Final = (
    r"^([0-9]{4})-([0-9]{2})(?:-([0-9]{2}))?" + _TIME_PART,
    r"^([0-9]{4})([0-9]{2})([0-9]{2})" + _BASIC_TIME_PART,
    r"^([0-9]{4})(?:[/:]?([0-9]{2})[/:]?([0-9]{2}))?" + _LOOSE_TIME_PART,
)
_WEEK_FORMATS: Final = (
    r"^([0-9]{4})-W([0-9]{2})(?:-([0-9]))?" + _TIME_PART,
    r"^([0-9]{4})W([0-9]{2})([0-9])?" + _BASIC_TIME_PART,
)
_ORDINAL_FORMATS: Final = (
    r"^([0-9]{4})-([0-9]{3})()" + _TIME_PART,
    r"^([0-9]{4})([0-9]{3})()" + _BASIC_TIME_PART,
)
_TIME_FORMATS: Final = (
    r"^([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]+))?)?" + _ZONE_PART + "$",
    r"^ ?([0-9]{1,2}):([0-9]{1,2})(?::([0-9]{1,2}))?(?:[.,|]([0-9]{1,9}))?()$",
    r"^T([0-9]{2})(?::?([0-9]{2})(?:([0-9]{2})(?:[.,]([0-9]+))?)?)?" + _ZONE_PART + "$",
)
# Without the years in which a zone offset may leave the calendar.
_COMMON_FORMAT: Final = (
    r"^(?!0000|0001|9999)[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.][0-9]{1,6})?"
)
_COMMON_WITH_ZONE: Final = literal(_COMMON_FORMAT + r"(?:Z|[+-](?:0[0-9]|1[0-7]):[0-5][0-9])$")
_COMMON_WITHOUT_ZONE: Final = literal(_COMMON_FORMAT + "$")
_MICROS_PER_SECOND: Final = 1_000_000
_FIRST_SECOND, _LAST_SECOND = -62_135_596_800, 253_402_300_799


def trimmed_text(text: str) -> str:
    """Return SQL for a text without surrounding blanks."""
    return f"regexp_replace({text}, {_OUTER_WHITESPACE}, '')"


def timestamp_from_seconds(value: str) -> str:
    """Return SQL for the timestamp of seconds since 1970, rounded to microseconds."""
    inside = f"{value} BETWEEN {_FIRST_SECOND} AND {_LAST_SECOND}"
    micros = f"CAST(bround(CAST({value} AS DOUBLE) * 1000000) AS BIGINT)"
    return f"CASE WHEN {inside} THEN timestamp_micros({micros}) END"


def timestamp_from_bigint(value: str) -> str:
    """Return SQL for the timestamp of whole seconds since 1970."""
    inside = f"{value} BETWEEN {_FIRST_SECOND} AND {_LAST_SECOND}"
    return f"CASE WHEN {inside} THEN timestamp_micros({value} * 1000000) END"


def timestamp_from_date(text: str) -> str:
    """Return SQL for the timestamp at the start of a date."""
    return f"CAST(concat({text}, 'T00:00:00Z') AS TIMESTAMP)"


def _timestamp_in_format(text: str, pattern: str) -> str:
    def group(number: int) -> str:
        return f"regexp_extract({text}, {literal(pattern)}, {number})"

    def two(number: int, otherwise: str) -> str:
        return f"lpad(coalesce(nullif({group(number)}, ''), '{otherwise}'), 2, '0')"

    fraction = f"coalesce(nullif(left({group(7)}, 6), ''), '0')"
    clock = f"concat({two(4, '0')}, ':', {two(5, '0')}, ':', {two(6, '0')}, '.', {fraction})"
    local = f"try_cast(concat({_date_text(pattern, group, two)}, 'T', {clock}, 'Z') AS TIMESTAMP)"
    micros = f"(unix_micros({local}) - {_offset_micros(group(8))})"
    first, last = _FIRST_SECOND * _MICROS_PER_SECOND, (_LAST_SECOND + 1) * _MICROS_PER_SECOND - 1
    inside = f"{micros} BETWEEN {first} AND {last}"
    return f"CASE WHEN {inside} THEN timestamp_micros({micros}) END"


def _date_text(pattern: str, group: Callable[[int], str], two_digits: Callable[[int, str], str]) -> str:
    """Return SQL for the ISO text of a calendar, week or ordinal date."""
    if pattern in _DATE_FORMATS:
        return f"concat({group(1)}, '-', {two_digits(2, '01')}, '-', {two_digits(3, '01')})"
    number = f"try_cast({group(2)} AS INT)"
    if pattern in _ORDINAL_FORMATS:
        date = f"date_add(try_cast(concat({group(1)}, '-01-01') AS DATE), {number} - 1)"
        return f"CASE WHEN {number} > 0 AND year({date}) = {group(1)} THEN CAST({date} AS STRING) END"
    weekday = f"CAST(coalesce(nullif({group(3)}, ''), '1') AS INT)"
    # The fourth of January is always in the first week.
    first = f"trunc(try_cast(concat({group(1)}, '-01-04') AS DATE), 'WEEK')"
    date = f"date_add({first}, ({number} - 1) * 7 + {weekday} - 1)"
    same = f"extract(YEAROFWEEK FROM {date}) = {group(1)} AND weekofyear({date}) = {number}"
    return f"CASE WHEN {weekday} BETWEEN 1 AND 7 AND {same} THEN CAST({date} AS STRING) END"


def _offset_micros(zone: str) -> str:
    """Return SQL for the offset of a zone in microseconds; NULL for a day or more."""
    digits = f"rpad(replace(substring({zone}, 2), ':', ''), 4, '0')"
    minutes = f"(CAST(left({digits}, 2) AS BIGINT) * 60 + CAST(right({digits}, 2) AS BIGINT))"
    sign = f"CASE WHEN startswith({zone}, '-') THEN -1 ELSE 1 END"
    return (
        f"CASE WHEN {zone} IN ('', 'Z') THEN 0"
        f" WHEN {minutes} < {24 * 60} THEN {minutes} * {60 * _MICROS_PER_SECOND} * {sign} END"
    )


def _iso_timestamp(text: str) -> str:
    """Return SQL for the timestamp of an ISO text; without a zone it is in UTC, a date is its midnight."""
    shapes = (*_DATE_FORMATS, *_WEEK_FORMATS, *_ORDINAL_FORMATS)
    cases = " ".join(
        f"WHEN {text} RLIKE {literal(shape)} THEN {_timestamp_in_format(text, shape)}" for shape in shapes
    )
    return f"CASE {cases} END"


def timestamp_from_text(text: str) -> str:
    """Return SQL for the timestamp of a text: ISO, or seconds since 1970."""
    # Nearly all timestamps are in a format that Spark casts.
    return (
        f"CASE WHEN {text} RLIKE {_COMMON_WITH_ZONE} THEN try_cast({text} AS TIMESTAMP)"
        f" WHEN {text} RLIKE {_COMMON_WITHOUT_ZONE} THEN try_cast(concat({text}, 'Z') AS TIMESTAMP)"
        f" WHEN {text} IS NOT NULL THEN {out_of_line(text, _rare_timestamp_from_text)} END"
    )


def _rare_timestamp_from_text(text: str) -> str:
    digits = trimmed_text(text)
    seconds = (
        f"CASE WHEN {digits} RLIKE {NUMBER_PATTERN} THEN try_cast(replace({digits}, '_', '') AS DOUBLE) END"
    )
    shapes = "|".join((*_DATE_FORMATS, *_WEEK_FORMATS, *_ORDINAL_FORMATS))
    return (
        f"coalesce(CASE WHEN {text} RLIKE {literal(shapes)} THEN {_iso_timestamp(text)} END,"
        f" {timestamp_from_seconds(f'({seconds})')})"
    )


def date_if_midnight(timestamp: str) -> str:
    """Return SQL for the date of a timestamp at midnight, else NULL."""
    is_midnight = f"unix_micros({timestamp}) % 86400000000 = 0"
    days = f"CAST(unix_micros({timestamp}) div 86400000000 AS INT)"
    return f"CASE WHEN {is_midnight} THEN date_from_unix_date({days}) END"


def time_from_text(text: str) -> str:
    """Return SQL for the time of day in UTC of a text."""
    cases = " ".join(
        f"WHEN {text} RLIKE {literal(shape)} THEN {_time_in_format(text, shape)}" for shape in _TIME_FORMATS
    )
    return f"CASE {cases} END"


def _time_in_format(text: str, pattern: str) -> str:
    def group(number: int) -> str:
        return f"regexp_extract({text}, {literal(pattern)}, {number})"

    clock = (
        f"concat(lpad({group(1)}, 2, '0'), ':', lpad({group(2)}, 2, '0'), ':', lpad({group(3)}, 2, '0'), '.',"
        f" coalesce(nullif(left({group(4)}, 6), ''), '0'))"
    )
    local = f"try_cast(concat('2000-01-02T', {clock}, 'Z') AS TIMESTAMP)"
    micros = f"((unix_micros({local}) - {_offset_micros(group(5))}) % 86400000000)"
    seconds = f"({micros} div 1000000)"
    fraction = (
        f"CASE WHEN {micros} % 1000000 != 0 THEN concat('.', lpad({micros} % 1000000, 6, '0')) ELSE '' END"
    )
    return (
        f"concat(lpad({seconds} div 3600, 2, '0'), ':', lpad(({seconds} div 60) % 60, 2, '0'), ':',"
        f" lpad({seconds} % 60, 2, '0'), {fraction})"
    )
