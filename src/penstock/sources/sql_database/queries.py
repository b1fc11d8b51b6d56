"""SQL queries for rows, keys and counts; sqlglot quotes names and values for the dialect."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import TYPE_CHECKING, Any, Final

from sqlglot import exp, tokenize
from sqlglot.errors import TokenError

from penstock.errors import UsageError
from penstock.interfaces.frame_engine import CursorRange

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from penstock.sources.sql_database.column_types import KeyKind, TypeMapping
    from penstock.sources.sql_database.dialects import Dialect
    from penstock.sources.sql_database.plan import PartitionRange

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_TEXT_TYPES: Final = frozenset(("text", "character varying", "bpchar"))
_BINARY_COMPARISON: Final = {
    "postgres": 'CAST({} AS TEXT) COLLATE "C"',
    "mysql": "CAST(CONVERT({} USING utf8mb4) AS BINARY)",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CursorWindow(CursorRange):
    """A range of a cursor; all rows up to `visible_until` are committed."""

    includes_nulls: bool = True
    visible_until: str | None = None
    is_empty: bool = False
    """Whether no row had a value at the snapshot; later rows belong to the next run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowQuery:
    """The rows to read: a table or a query, its columns, and a window of a cursor."""

    dialect: Dialect
    table: str | None = None
    schema: str | None = None
    query: str | None = None
    columns: tuple[tuple[str, TypeMapping | None], ...] = ()
    """The columns with the mappings of their types; empty for all columns."""
    postgres_types: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """The Postgres types of columns."""
    text_columns: frozenset[str] = field(default=frozenset(), repr=False)
    """Columns that a cursor compares by the bytes of their text, as Spark does."""
    date_columns: frozenset[str] = field(default=frozenset(), repr=False)
    """Date columns of MySQL. Zero dates ('0000-00-00'): drivers return NULL, MySQL compares them as 0."""
    window: CursorWindow | None = None

    @property
    def from_clause(self) -> str:
        """The source after FROM, with the alias `t`."""
        if self.query is not None:
            # On a new line, because the query may end in a comment.
            return f"({_without_semicolons(self.query, self.dialect)}\n) {self.quote('t')}"
        parts = [self.quote(part) for part in (self.schema, self.table) if part]
        return f"{'.'.join(parts)} {self.quote('t')}"

    def quote(self, name: str) -> str:
        """Return a quoted name."""
        return exp.to_identifier(name, quoted=True).sql(dialect=self.dialect.sqlglot_dialect)

    def column(self, name: str) -> str:
        """Return a quoted column of `t`."""
        return f"{self.quote('t')}.{self.quote(name)}"

    def comparable(self, name: str) -> str:
        """Return a column for comparison with a cursor: text by bytes, as in Spark, not by a collation."""
        if name in self.text_columns:
            return _BINARY_COMPARISON[self.dialect.catalog].format(self.column(name))
        is_text = dict(self.postgres_types).get(name) in _TEXT_TYPES
        return f'{self.column(name)} COLLATE "C"' if is_text else self.column(name)

    def select(self, *conditions: str) -> str:
        """Return the query for the rows in the window that satisfy all conditions."""
        items = ", ".join(self._select_item(name, mapping) for name, mapping in self.columns)
        where = _where_clause(filter(None, (*conditions, *self.window_conditions())))
        return f"SELECT {items or self.quote('t') + '.*'} FROM {self.from_clause}{where}"

    def _select_item(self, name: str, mapping: TypeMapping | None) -> str:
        if mapping is None or mapping.select_expression is None:
            return self.column(name)
        return f"{mapping.select_expression.format(self.column(name))} AS {self.quote(name)}"

    def window_conditions(self) -> tuple[str, ...]:
        """Return the conditions of the window."""
        window = self.window
        if window is None:
            return ()
        column, comparable = self.column(window.column), self.comparable(window.column)
        missing = f"{column} IS NULL"
        if window.column in self.date_columns:
            missing = f"{missing} OR {column} = 0"
        if window.is_empty:
            return (missing if window.includes_nulls else "1 = 0",)
        after, before = (">", "<") if window.is_max else ("<", ">")
        bounds = []
        if window.start is not None:
            operator = after if window.is_start_open else f"{after}="
            bounds.append(f"{comparable} {operator} {self.value_literal(window.start, window.column)}")
        if window.end is not None:
            operator = before if window.is_end_open else f"{before}="
            bounds.append(f"{comparable} {operator} {self.value_literal(window.end, window.column)}")
        if window.visible_until is not None:
            bounds.append(
                f"{comparable} <= {self.bound_literal(window.visible_until, window.column, 'text')}"
            )
        if not bounds:
            return () if window.includes_nulls else (f"{column} IS NOT NULL",)
        condition = " AND ".join(bounds)
        return (f"({condition}) OR {missing}" if window.includes_nulls else condition,)

    def range_condition(self, key: str, key_range: PartitionRange, kind: KeyKind) -> str:
        """Return the condition of a range, which an index of the key supports."""
        column = self.column(key)
        if key_range.is_null:
            return f"{column} IS NULL"
        parts = []
        if key_range.lower is not None:
            parts.append(f"{column} >= {self.bound_literal(key_range.lower, key, kind)}")
        if key_range.upper is not None:
            parts.append(f"{column} < {self.bound_literal(key_range.upper, key, kind)}")
        return " AND ".join(parts)

    def bound_literal(self, text: str, column: str, kind: KeyKind) -> str:
        """Return a bound as a literal of the type of its column, so that the database can compare them."""
        if kind == "number" and self.dialect.catalog != "postgres":
            return text
        literal = exp.Literal.string(text).sql(dialect=self.dialect.sqlglot_dialect)
        if postgres_type := dict(self.postgres_types).get(column):
            return f"CAST({literal} AS {postgres_type})"
        if self.dialect.catalog == "postgres" and kind != "number":
            # Postgres gives an untyped literal the type of the column.
            return literal
        match kind:
            case "number":
                return text
            case "date":
                return (
                    f"DATE {literal}"
                    if self.dialect.sqlglot_dialect != "tsql"
                    else f"CAST({literal} AS DATE)"
                )
            case "moment":
                return self.dialect.timestamp_literal.format(literal)
            case _:
                return literal

    def value_literal(self, value: Any, column: str) -> str:
        """Return a Python value as a literal."""
        match value:
            case bool():
                raise self._invalid_bound(value)
            case float() | Decimal() if not math.isfinite(value):
                if self.dialect.catalog != "postgres":
                    raise self._invalid_bound(value)
                return self.bound_literal(str(float(value)), column, "text")
            case int() | float() | Decimal():
                return exp.Literal.number(str(value)).sql(dialect=self.dialect.sqlglot_dialect)
            case datetime():
                return self.bound_literal(self._timestamp_text(value, column), column, "moment")
            case date():
                return self.bound_literal(value.isoformat(), column, "date")
            case str() if self.dialect.catalog == "mysql" and column in self.text_columns:
                # As bytes, independent of character sets and escapes.
                return f"X'{value.encode().hex()}'"
            case str():
                return self.bound_literal(value, column, "text")
            case _:
                raise self._invalid_bound(value)

    def _timestamp_text(self, value: datetime, column: str) -> str:
        """Return a timestamp in UTC, for Postgres with the offset unless the column has no time zone."""
        aware = value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
        text = aware.replace(tzinfo=None).isoformat(sep=" ", timespec="microseconds")
        if self.dialect.catalog != "postgres":
            return text
        return f"{text}+00" if "without" not in dict(self.postgres_types).get(column, "") else text

    @staticmethod
    def _invalid_bound(value: Any) -> UsageError:
        description = value if isinstance(value, float | Decimal) else f"a {type(value).__name__}"
        return UsageError(
            f"{description} cannot be the bound of a cursor in a database",
            hint="use numbers, texts, dates or timestamps",
        )


def _where_clause(conditions: Iterable[str]) -> str:
    text = " AND ".join(f"({condition})" for condition in conditions)
    return f" WHERE {text}" if text else ""


def _without_semicolons(query: str, dialect: Dialect) -> str:
    """Return a query without its trailing semicolons, also those before a comment."""
    try:
        tokens = tokenize(query, read=dialect.sqlglot_dialect or None)
    except TokenError:
        return query.rstrip().rstrip(";")
    while tokens and tokens[-1].token_type.name == "SEMICOLON":
        position = tokens.pop().start
        query = query[:position] + query[position + 1 :]
    return query.strip()


def key_to_int(text: str, kind: KeyKind, *, round_up: bool = False) -> int:
    """Return a key as an integer: days, microseconds, or the number itself, rounded down or up.

    >>> key_to_int("-2.5", "number"), key_to_int("1970-01-02", "date")
    (-3, 1)
    >>> key_to_int("1970-01-02 00:00", "moment")
    86400000000
    """
    match kind:
        case "date":
            return (datetime.fromisoformat(text).date() - EPOCH.date()).days
        case "moment":
            timestamp = datetime.fromisoformat(text)
            aware = timestamp if timestamp.tzinfo else timestamp.replace(tzinfo=UTC)
            return (aware - EPOCH) // timedelta(microseconds=1)
        case _:
            return int(Decimal(text).to_integral_value(ROUND_CEILING if round_up else ROUND_FLOOR))


def int_to_key(number: int, kind: KeyKind) -> str:
    """Return the key of an integer from `key_to_int`.

    >>> int_to_key(1, "date"), int_to_key(1_500_000, "moment"), int_to_key(-3, "number")
    ('1970-01-02', '1970-01-01 00:00:01.500000', '-3')
    """
    match kind:
        case "date":
            return (EPOCH.date() + timedelta(days=number)).isoformat()
        case "moment":
            timestamp = EPOCH + timedelta(microseconds=number)
            return timestamp.replace(tzinfo=None).isoformat(sep=" ", timespec="microseconds")
        case _:
            return str(number)


def key_statistics_query(row_query: RowQuery, key: str, kind: KeyKind) -> str:
    """Return the query for the smallest and the greatest key and the number of rows."""
    column, where = row_query.column(key), _where_clause(row_query.window_conditions())
    return (
        f"SELECT {_cast_to_text(row_query, f'MIN({column})', kind)} AS least, "
        f"{_cast_to_text(row_query, f'MAX({column})', kind)} AS most, "
        f"COUNT(*) AS row_count FROM {row_query.from_clause}{where}"
    )


def cell_counts_query(row_query: RowQuery, key: str, kind: KeyKind, bounds: Sequence[str]) -> str:
    """Return the query for the number of rows in each cell between bounds; empty cells have no row."""
    column = row_query.column(key)
    whens = " ".join(
        f"WHEN {column} < {row_query.bound_literal(bound, key, kind)} THEN {number}"
        for number, bound in enumerate(bounds)
    )
    where = _where_clause((f"{column} IS NOT NULL", *row_query.window_conditions()))
    cell = f"CASE {whens} ELSE {len(bounds)} END"
    return f"SELECT {cell} AS cell, COUNT(*) AS row_count FROM {row_query.from_clause}{where} GROUP BY {cell}"


def key_sample_query(row_query: RowQuery, key: str, *, ranges: int, percent: float) -> str:
    """Return the query for the keys that divide a sample of a Postgres table into equal parts, as text."""
    shares = ", ".join(f"{number / ranges:.6f}" for number in range(1, ranges))
    sample = f"{row_query.from_clause} TABLESAMPLE SYSTEM ({percent:.6f}) REPEATABLE (1)"
    where = _where_clause(row_query.window_conditions())
    cuts = f"PERCENTILE_DISC(ARRAY[{shares}]) WITHIN GROUP (ORDER BY {row_query.column(key)})"
    return (
        f"SELECT CAST(cut AS TEXT) AS cut FROM (SELECT {cuts} AS cuts FROM {sample}{where}) s, "
        "UNNEST(s.cuts) WITH ORDINALITY AS u (cut, at) ORDER BY at"
    )


def _cast_to_text(row_query: RowQuery, expression: str, kind: KeyKind) -> str:
    if row_query.dialect.sqlglot_dialect == "tsql" and kind in {"date", "moment"}:
        # ISO 8601; a cast would write the names of months.
        return f"CONVERT(VARCHAR(33), {expression}, 126)"
    length = {"mysql": "CHAR", "tsql": "VARCHAR(64)", "oracle": "VARCHAR2(64)"}.get(
        row_query.dialect.sqlglot_dialect, "TEXT"
    )
    return f"CAST({expression} AS {length})"
