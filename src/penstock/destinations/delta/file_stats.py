"""Statistics of Parquet files, from their footers, in the form that Delta's log has. Pure functions.

A bound is left out where it is not known to be true: every reader may skip files by it.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from penstock.errors import InternalError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pyarrow.parquet import ColumnChunkMetaData, ColumnSchema, FileMetaData

DEFAULT_INDEXED_COLUMNS: Final = 32
"""The number of columns with statistics, unless the table has another one."""
MAX_TEXT_LENGTH: Final = 32
"""The number of characters that bounds of texts are cut to."""

_DECIMAL: Final = re.compile(r"decimal\((\d+),(\d+)\)")
_PHYSICAL_TYPES: Final[Mapping[str, frozenset[str]]] = {
    "boolean": frozenset(("BOOLEAN",)),
    "byte": frozenset(("INT32",)),
    "short": frozenset(("INT32",)),
    "integer": frozenset(("INT32",)),
    "long": frozenset(("INT64",)),
    "float": frozenset(("FLOAT",)),
    "double": frozenset(("DOUBLE",)),
    "string": frozenset(("BYTE_ARRAY",)),
    "binary": frozenset(("BYTE_ARRAY",)),
    "date": frozenset(("INT32",)),
    "timestamp": frozenset(("INT64", "INT96")),
    "timestamp_ntz": frozenset(("INT64", "INT96")),
    "decimal": frozenset(("INT32", "INT64", "FIXED_LEN_BYTE_ARRAY", "BYTE_ARRAY")),
}
PRIMITIVE_TYPES: Final = frozenset(_PHYSICAL_TYPES) - {"decimal"}
"""The primitive types, beside decimals, whose files are checked and described."""
_INTEGERS: Final = frozenset(("byte", "short", "integer", "long"))
_FLOATS: Final = frozenset(("float", "double"))
_TIMESTAMPS: Final = frozenset(("timestamp", "timestamp_ntz"))
_CALENDAR_TYPES: Final = _TIMESTAMPS | {"date"}
# Only this writer shows NaN, the greatest number, in its bounds: others leave it out.
_WRITER_WITH_NAN: Final = "parquet-mr"
# Values of the old calendar are stored as other days than they mean.
_OLD_CALENDAR_KEYS: Final = frozenset((b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96"))
_EPOCH: Final = date(1970, 1, 1).toordinal()
_MILLISECONDS_PER_DAY: Final = 86_400_000
_DELETE, _LAST_CHARACTER = "\x7f", "\U0010ffff"

Path = tuple[str, ...]
"""The path of a column in structs."""
Bound = int | float | str | Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnStats:
    """The statistics of one column in one file; None is unknown."""

    lower: Bound | None = None
    upper: Bound | None = None
    null_count: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """A Parquet file in the folder of a table."""

    path: str
    """Relative to the folder of the table."""
    size: int
    rows: int
    columns: Mapping[Path, ColumnStats] = field(default_factory=dict)


def leaf_columns(struct: Mapping[str, Any], parents: Path = ()) -> Iterator[tuple[Path, str | None]]:
    """Return the columns of a schema as Spark writes it in JSON, with fields of structs in place of them.

    The type of an array or a map is None: its elements have no statistics.
    """
    for column in struct["fields"]:
        path, kind = (*parents, column["name"]), column["type"]
        if isinstance(kind, dict) and kind["type"] == "struct":
            yield from leaf_columns(kind, path)
        else:
            yield path, kind if isinstance(kind, str) else None


def describe_file(path: str, size: int, footer: FileMetaData, struct: Mapping[str, Any]) -> DataFile:
    """Return a file with its statistics; raise if it does not have the columns of the schema."""
    indices = {footer.schema.column(index).path: index for index in range(footer.num_columns)}
    has_old_calendar = not _OLD_CALENDAR_KEYS.isdisjoint(footer.metadata or {})
    has_nan_in_bounds = (footer.created_by or "").startswith(_WRITER_WITH_NAN)
    columns: dict[Path, ColumnStats] = {}
    for column, kind in leaf_columns(struct):
        if kind is None:
            continue
        index = indices.get(".".join(column))
        if index is None or not _has_type(footer.schema.column(index), kind):
            raise InternalError(f"file {path} has no column {'.'.join(column)} of type {kind}")
        chunks = [footer.row_group(group).column(index) for group in range(footer.num_row_groups)]
        is_known = not (has_old_calendar and kind in _CALENDAR_TYPES)
        columns[column] = _column_stats(
            chunks, footer.schema.column(index), kind, is_known=is_known, is_upper_known=has_nan_in_bounds
        )
    return DataFile(path=path, size=size, rows=footer.num_rows, columns=columns)


def stats_json(file: DataFile, indexed: Iterable[Path]) -> str:
    """Return the statistics of a file as the text in the log, for the indexed columns."""
    lower: dict[str, Any] = {}
    upper: dict[str, Any] = {}
    nulls: dict[str, Any] = {}
    for path in indexed:
        stats = file.columns.get(path)
        if stats is not None:
            for target, value in ((lower, stats.lower), (upper, stats.upper), (nulls, stats.null_count)):
                if value is not None:
                    _set_nested(target, path, value)
    document: dict[str, Any] = {"numRecords": file.rows}
    document |= {"minValues": lower, "maxValues": upper, "nullCount": nulls}
    return _encode(document)


def truncated_lower(text: str) -> str:
    """Return a text that is not greater, in the order of code points.

    >>> truncated_lower("a" * 40) == "a" * 32
    True
    """
    return text[:MAX_TEXT_LENGTH]


def truncated_upper(text: str) -> str | None:
    """Return a text that is not less, in the order of code points; None if there is none that short.

    >>> truncated_upper("a" * 40) == "a" * 32 + chr(0x7F), truncated_upper("short")
    (True, 'short')
    """
    if len(text) <= MAX_TEXT_LENGTH:
        return text
    following = text[MAX_TEXT_LENGTH]
    if following == _LAST_CHARACTER:
        return None
    return text[:MAX_TEXT_LENGTH] + (_DELETE if following < _DELETE else _LAST_CHARACTER)


def timestamp_text(microseconds: int, *, is_upper: bool, has_zone: bool) -> str | None:
    """Return a timestamp in milliseconds, rounded away from the values; None beyond the years 1 to 9999.

    >>> timestamp_text(1_500, is_upper=True, has_zone=True)
    '1970-01-01T00:00:00.002Z'
    """
    milliseconds = -(-microseconds // 1000) if is_upper else microseconds // 1000
    days, rest = divmod(milliseconds, _MILLISECONDS_PER_DAY)
    day = date_text(days)
    if day is None:
        return None
    seconds, millis = divmod(rest, 1000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"{day}T{hour:02}:{minute:02}:{second:02}.{millis:03}{'Z' if has_zone else ''}"


def date_text(days: int) -> str | None:
    """Return the date that is so many days after 1970-01-01; None beyond the years 1 to 9999."""
    ordinal = _EPOCH + days
    if not date.min.toordinal() <= ordinal <= date.max.toordinal():
        return None
    return date.fromordinal(ordinal).isoformat()


def exact_decimal(unscaled: int, scale: int) -> Decimal:
    """Return a decimal with all of its digits.

    >>> exact_decimal(-12345, 2)
    Decimal('-123.45')
    """
    return Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -scale))


def _has_type(column: ColumnSchema, kind: str) -> bool:
    """Return whether a column of a file can be read as a type."""
    if column.max_repetition_level:
        return False
    decimal = _DECIMAL.fullmatch(kind)
    if column.physical_type not in _PHYSICAL_TYPES.get("decimal" if decimal else kind, frozenset()):
        return False
    logical = column.logical_type.type
    if decimal:
        return bool(logical == "DECIMAL" and (column.precision, column.scale) == _digits(kind))
    if kind in _TIMESTAMPS and column.physical_type == "INT64":
        return _is_in_microseconds(column, has_zone=kind == "timestamp")
    expected = {"string": {"STRING"}, "date": {"DATE"}, "byte": {"INT"}, "short": {"INT"}}
    return logical in expected.get(kind, {"NONE", "INT"})


def _is_in_microseconds(column: ColumnSchema, *, has_zone: bool) -> bool:
    if column.logical_type.type != "TIMESTAMP":
        return False
    logical = json.loads(column.logical_type.to_json())
    return (logical["timeUnit"], logical["isAdjustedToUTC"]) == ("microseconds", has_zone)


def _digits(kind: str) -> tuple[int, int]:
    match = _DECIMAL.fullmatch(kind)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def _column_stats(
    chunks: Sequence[ColumnChunkMetaData],
    column: ColumnSchema,
    kind: str,
    *,
    is_known: bool,
    is_upper_known: bool,
) -> ColumnStats:
    """Return the statistics of a column over all row groups."""
    nulls, values, is_complete = 0, list[tuple[Any, Any]](), is_known
    has_null_count = True
    for chunk in chunks:
        stats = chunk.statistics
        has_nulls = stats is not None and stats.has_null_count
        has_null_count = has_null_count and has_nulls
        nulls += stats.null_count if has_nulls else 0
        if has_nulls and stats.null_count == chunk.num_values:
            continue
        if stats is None or not stats.has_min_max:
            is_complete = False
        elif is_complete:
            values.append((stats.min_raw, stats.max_raw))
    null_count = nulls if has_null_count else None
    if not is_complete or not values or column.physical_type == "INT96":
        return ColumnStats(null_count=null_count)
    bounds = [
        (_bound(lower, kind, is_upper=False), _bound(upper, kind, is_upper=True)) for lower, upper in values
    ]
    lowers, uppers = [lower for lower, _ in bounds], [upper for _, upper in bounds]
    has_upper = kind not in _FLOATS or is_upper_known
    return ColumnStats(
        lower=None if None in lowers else min(lowers),
        upper=None if None in uppers or not has_upper else max(uppers),
        null_count=null_count,
    )


def _bound(raw: Any, kind: str, *, is_upper: bool) -> Any:
    """Return a value of a footer as a bound; None if the type has none, or this value."""
    if kind in _INTEGERS:
        return raw
    if kind in _FLOATS:
        return raw if math.isfinite(raw) else None
    if kind == "date":
        return date_text(raw)
    if kind in _TIMESTAMPS:
        return timestamp_text(raw, is_upper=is_upper, has_zone=kind == "timestamp")
    if kind == "string":
        return _text_bound(raw, is_upper=is_upper)
    if _DECIMAL.fullmatch(kind):
        unscaled = raw if isinstance(raw, int) else int.from_bytes(raw, "big", signed=True)
        return exact_decimal(unscaled, _digits(kind)[1])
    return None


def _text_bound(raw: bytes, *, is_upper: bool) -> str | None:
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return None
    return truncated_upper(text) if is_upper else truncated_lower(text)


def _set_nested(document: dict[str, Any], path: Path, value: Any) -> None:
    for name in path[:-1]:
        document = document.setdefault(name, {})
    document[path[-1]] = value


def _encode(value: Any) -> str:
    """Encode as JSON, decimals as numbers with all of their digits."""
    if isinstance(value, dict):
        return f"{{{','.join(f'{json.dumps(name)}:{_encode(item)}' for name, item in value.items())}}}"
    return f"{value:f}" if isinstance(value, Decimal) else json.dumps(value)
