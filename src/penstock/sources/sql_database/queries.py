"""The SQL that a database is asked with: names and values are written by sqlglot for its dialect."""

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
    from collections.abc import Sequence

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
    """A range of a cursor as a database is asked for it. `settled` is how far rows are all there."""

    includes_nulls: bool = True
    visible_until: str | None = None
    is_empty: bool = False
    """Whether no row had a value yet: those that come now are for the next time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowQuery:
    """What is read: a table or a query, some of its columns, the rows of a window."""

    dialect: Dialect
    table: str | None = None
    schema: str | None = None
    query: str | None = None
    columns: tuple[tuple[str, TypeMapping | None], ...] = ()
    """The columns with what is known of their types; none for all of them."""
    postgres_types: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """The types of columns as Postgres writes them."""
    text_columns: frozenset[str] = field(default=frozenset(), repr=False)
    """Columns that Spark has as texts, and Postgres has not, or nobody knows; all texts of MySQL."""
    date_columns: frozenset[str] = field(default=frozenset(), repr=False)
    """Columns of MySQL with days or moments: one that never was is nothing for its drivers, and 0 for it."""
    window: CursorWindow | None = None

    @property
    def from_clause(self) -> str:
        """What stands after FROM, under the name `t`."""
        if self.query is not None:
            # A comment at its end would take the bracket with it.
            return f"({_without_semicolons(self.query, self.dialect)}\n) {self.quote('t')}"
        parts = [self.quote(part) for part in (self.schema, self.table) if part]
        return f"{'.'.join(parts)} {self.quote('t')}"

    def quote(self, name: str) -> str:
        """A name, quoted."""
        return exp.to_identifier(name, quoted=True).sql(dialect=self.dialect.sqlglot_dialect)

    def column(self, name: str) -> str:
        """A column, quoted."""
        return f"{self.quote('t')}.{self.quote(name)}"

    def comparable(self, name: str) -> str:
        """A column as a cursor compares it: texts by their bytes, as Spark does, and not by a collation."""
        if name in self.text_columns:
            return _BINARY_COMPARISON[self.dialect.catalog].format(self.column(name))
        is_text = dict(self.postgres_types).get(name) in _TEXT_TYPES
        return f'{self.column(name)} COLLATE "C"' if is_text else self.column(name)

    def select(self, *conditions: str) -> str:
        """The rows that meet all conditions and lie in the window."""
        wanted = [one for one in (*conditions, *self.window_conditions()) if one]
        chosen = (
            ", ".join(self._select_item(name, kind) for name, kind in self.columns) or f"{self.quote('t')}.*"
        )
        where = f" WHERE {' AND '.join(f'({one})' for one in wanted)}" if wanted else ""
        return f"SELECT {chosen} FROM {self.from_clause}{where}"

    def _select_item(self, name: str, mapping: TypeMapping | None) -> str:
        if mapping is None or mapping.select_expression is None:
            return self.column(name)
        return f"{mapping.select_expression.format(self.column(name))} AS {self.quote(name)}"

    def window_conditions(self) -> tuple[str, ...]:
        """The window as conditions."""
        window = self.window
        if window is None:
            return ()
        column, compared = self.column(window.column), self.comparable(window.column)
        missing = f"{column} IS NULL"
        if window.column in self.date_columns:
            missing = f"{missing} OR {column} = 0"
        if window.is_empty:
            return (missing if window.includes_nulls else "1 = 0",)
        since, until = (">", "<") if window.is_max else ("<", ">")
        parts = []
        if window.start is not None:
            sign = since if window.is_start_open else f"{since}="
            parts.append(f"{compared} {sign} {self.value_literal(window.start, window.column)}")
        if window.end is not None:
            sign = until if window.is_end_open else f"{until}="
            parts.append(f"{compared} {sign} {self.value_literal(window.end, window.column)}")
        if window.visible_until is not None:
            parts.append(f"{compared} <= {self.bound_literal(window.visible_until, window.column, 'text')}")
        if not parts:
            return () if window.includes_nulls else (f"{column} IS NOT NULL",)
        together = " AND ".join(parts)
        return (f"({together}) OR {missing}" if window.includes_nulls else together,)

    def range_condition(self, key: str, key_range: PartitionRange, kind: KeyKind) -> str:
        """A range as a condition that an index of the key serves."""
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
        """A bound as a literal, of the type that its column has, so that the database compares the two."""
        if kind == "number" and self.dialect.catalog != "postgres":
            return text
        literal = exp.Literal.string(text).sql(dialect=self.dialect.sqlglot_dialect)
        if own := dict(self.postgres_types).get(column):
            return f"CAST({literal} AS {own})"
        if self.dialect.catalog == "postgres" and kind != "number":
            # Postgres takes a literal without a type for one of the column's.
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
        """A value of Python as a literal."""
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
                # The very bytes: no character set and no sign of escape has a say.
                return f"X'{value.encode().hex()}'"
            case str():
                return self.bound_literal(value, column, "text")
            case _:
                raise self._invalid_bound(value)

    def _timestamp_text(self, value: datetime, column: str) -> str:
        """In UTC; with the zone where the column has one, or may have: Postgres passes over it where not."""
        aware = value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
        text = aware.replace(tzinfo=None).isoformat(sep=" ", timespec="microseconds")
        if self.dialect.catalog != "postgres":
            return text
        return f"{text}+00" if "without" not in dict(self.postgres_types).get(column, "") else text

    @staticmethod
    def _invalid_bound(value: Any) -> UsageError:
        shown = value if isinstance(value, float | Decimal) else f"a {type(value).__name__}"
        return UsageError(
            f"{shown} cannot be the bound of a cursor in a database",
            hint="use numbers, texts, dates or moments",
        )


def _without_semicolons(query: str, dialect: Dialect) -> str:
    """A query without the semicolons at its end; a comment may come after them."""
    try:
        tokens = tokenize(query, read=dialect.sqlglot_dialect or None)
    except TokenError:
        return query.rstrip().rstrip(";")
    while tokens and tokens[-1].token_type.name == "SEMICOLON":
        at = tokens.pop().start
        query = query[:at] + query[at + 1 :]
    return query.strip()


def key_to_int(text: str, kind: KeyKind, *, round_up: bool = False) -> int:
    """A key as a whole number: days, microseconds, or the number itself, rounded down or up.

    >>> key_to_int("-2.5", "number"), key_to_int("1970-01-02", "date")
    (-3, 1)
    >>> key_to_int("1970-01-02 00:00", "moment")
    86400000000
    """
    match kind:
        case "date":
            return (datetime.fromisoformat(text).date() - EPOCH.date()).days
        case "moment":
            moment = datetime.fromisoformat(text)
            aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            return (aware - EPOCH) // timedelta(microseconds=1)
        case _:
            return int(Decimal(text).to_integral_value(ROUND_CEILING if round_up else ROUND_FLOOR))


def int_to_key(number: int, kind: KeyKind) -> str:
    """A whole number as the key that it stands for.

    >>> int_to_key(1, "date"), int_to_key(1_500_000, "moment"), int_to_key(-3, "number")
    ('1970-01-02', '1970-01-01 00:00:01.500000', '-3')
    """
    match kind:
        case "date":
            return (EPOCH.date() + timedelta(days=number)).isoformat()
        case "moment":
            moment = EPOCH + timedelta(microseconds=number)
            return moment.replace(tzinfo=None).isoformat(sep=" ", timespec="microseconds")
        case _:
            return str(number)


def key_statistics_query(row_query: RowQuery, key: str, kind: KeyKind) -> str:
    """The least and the greatest key, and how many rows there are."""
    column = row_query.column(key)
    inside = (
        f" WHERE {' AND '.join(f'({one})' for one in row_query.window_conditions())}"
        if row_query.window_conditions()
        else ""
    )
    return (
        f"SELECT {_cast_to_text(row_query, f'MIN({column})', kind)} AS least, "
        f"{_cast_to_text(row_query, f'MAX({column})', kind)} AS most, "
        f"COUNT(*) AS found FROM {row_query.from_clause}{inside}"
    )


def cell_counts_query(row_query: RowQuery, key: str, kind: KeyKind, bounds: Sequence[str]) -> str:
    """How many rows are in each cell between bounds; cells without rows do not show."""
    column = row_query.column(key)
    whens = " ".join(
        f"WHEN {column} < {row_query.bound_literal(bound, key, kind)} THEN {at}"
        for at, bound in enumerate(bounds)
    )
    wanted = " AND ".join(f"({one})" for one in (f"{column} IS NOT NULL", *row_query.window_conditions()))
    cell = f"CASE {whens} ELSE {len(bounds)} END"
    source = f"{row_query.from_clause} WHERE {wanted}"
    return f"SELECT {cell} AS cell, COUNT(*) AS found FROM {source} GROUP BY {cell}"


def key_sample_query(row_query: RowQuery, key: str, *, ranges: int, percent: float) -> str:
    """The keys that cut a sample of a table of Postgres into equal parts: sorted by Postgres, as texts."""
    shares = ", ".join(f"{number / ranges:.6f}" for number in range(1, ranges))
    column = row_query.column(key)
    sampled = f"{row_query.from_clause} TABLESAMPLE SYSTEM ({percent:.6f}) REPEATABLE (1)"
    inside = (
        f" WHERE {' AND '.join(f'({one})' for one in row_query.window_conditions())}"
        if row_query.window_conditions()
        else ""
    )
    cuts = f"PERCENTILE_DISC(ARRAY[{shares}]) WITHIN GROUP (ORDER BY {column})"
    return (
        f"SELECT CAST(cut AS TEXT) AS cut FROM (SELECT {cuts} AS cuts FROM {sampled}{inside}) s, "
        "UNNEST(s.cuts) WITH ORDINALITY AS u (cut, at) ORDER BY at"
    )


def _cast_to_text(row_query: RowQuery, expression: str, kind: KeyKind) -> str:
    if row_query.dialect.sqlglot_dialect == "tsql" and kind in {"date", "moment"}:
        # The form of ISO 8601; a cast would write the names of months.
        return f"CONVERT(VARCHAR(33), {expression}, 126)"
    length = {"mysql": "CHAR", "tsql": "VARCHAR(64)", "oracle": "VARCHAR2(64)"}.get(
        row_query.dialect.sqlglot_dialect, "TEXT"
    )
    return f"CAST({expression} AS {length})"
