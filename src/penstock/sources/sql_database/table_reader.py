"""One table or query while it is read: asked about, cut into ranges, and given as one DataFrame."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from penstock.config import logger
from penstock.errors import UsageError
from penstock.interfaces.hints import NO_HINTS, TableHints, make_hints
from penstock.interfaces.items import HintsMark, MarkedItem
from penstock.interfaces.run_context import current_context
from penstock.sources.sql_database.casts import cast_text_columns, drop_columns, unknown_column_error
from penstock.sources.sql_database.column_types import (
    column_hint,
    mysql_comparison,
    postgres_comparison,
    spark_key_kind,
    type_mapping,
)
from penstock.sources.sql_database.plan import WHOLE_TABLE
from penstock.sources.sql_database.queries import CursorWindow, RowQuery
from penstock.sources.sql_database.reflection import ReflectedTable
from penstock.sources.sql_database.run import (
    Database,
    partition_ranges,
    reflect_tables,
    union,
    wait_for_visible_value,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from penstock.interfaces.incremental import Incremental
    from penstock.sources.sql_database.column_types import KeyKind, ReflectionLevel, TypeMapping
    from penstock.sources.sql_database.connections import ConnectionBudget
    from penstock.sources.sql_database.plan import PartitionRange

LOG = logger("penstock.sources.sql_database")


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlOptions:
    """What is the same for all tables of a source."""

    database: Database
    schema: str
    connections: ConnectionBudget
    partitions: int
    settle: float
    reflection_level: ReflectionLevel
    resolve_foreign_keys: bool = False


class DatabaseReflection:
    """What the database says of its tables; asked for once in a run, when the first of them is read."""

    def __init__(self, options: SqlOptions, table_names: tuple[str, ...] | None) -> None:
        self._options, self._table_names = options, table_names
        self._lock = threading.Lock()
        self._reflected: dict[str, ReflectedTable] | None = None
        self._session_lender: object = None
        """Who lends sessions in the run that the facts are of."""

    @property
    def is_supported(self) -> bool:
        """Whether the database tells of its tables."""
        return self._options.database.jdbc.dialect.catalog != "none"

    def reflect(self) -> dict[str, ReflectedTable]:
        """All of them by name, as they are now."""
        return reflect_tables(self._options.database, self._options.schema, self._table_names)

    def tables(self) -> dict[str, ReflectedTable]:
        """All of them by name, as they were when the run began to read."""
        with self._lock:
            lender = current_context().lend_session
            if self._reflected is None or self._session_lender is not lender:
                self._reflected, self._session_lender = self.reflect(), lender
            return self._reflected

    def table(self, name: str) -> ReflectedTable:
        """One of them; where the database does not tell of tables, nothing but its name is known."""
        if not self.is_supported:
            return ReflectedTable(name=name)
        found = self.tables().get(name)
        if found is None:
            raise UsageError(
                f"the database has no table {name!r} in {self._options.schema!r}",
                hint="names are those of the database, in its upper and lower case; schema= says where",
            )
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class TableReader:
    """One table or query, and how it is to be read."""

    options: SqlOptions
    name: str
    reflection: DatabaseReflection | None = None
    """None for a query."""
    query: str | None = None
    included_columns: tuple[str, ...] | None = None
    excluded_columns: tuple[str, ...] = ()
    partition_column: str | None = None

    def frames(self, cursor: Incremental[Any] | None) -> Iterator[Any]:
        """The rows as one DataFrame, in the time in which there are connections for it."""
        budget, database = self.options.connections, self.options.database
        with budget.reserve(1) as asking:
            yield from asking.wait()
            facts = self.reflection.table(self.name) if self.reflection else ReflectedTable(name=self.name)
            columns, seen = self._columns(facts), self._spark_types(facts, is_windowed=cursor is not None)
            rows = self._row_query(facts, seen)
            if cursor is not None:
                self._set_cursor_key(cursor, facts)
                window = self.window(cursor, facts, seen, rows)
                for reached in _visible_window(database, rows, window, limit=self._settle_limit(cursor)):
                    yield None
                    window = reached
                rows = replace(rows, window=window)
            key = self.partition_key(facts, seen)
            ranges: tuple[PartitionRange, ...] = WHOLE_TABLE
            if key is not None:
                ranges = partition_ranges(
                    database, rows, key, partitions=self.options.partitions, table=facts
                )
        hints = self._hints(facts, columns)
        with budget.reserve(len(ranges)) as reading:
            yield from reading.wait()
            parts = [rows.range_condition(key[0], one, key[1]) if key else "" for one in ranges]
            frame = cast_text_columns(
                union([database.read(rows.select(part)) for part in parts]), dict(columns)
            )
            frame = frame if facts.columns else drop_columns(frame, self.excluded_columns, table=self.name)
            yield MarkedItem(frame, HintsMark(hints)) if hints is not NO_HINTS else frame
            # Asked for more, so the rows are written, and the connections are free.

    def _set_cursor_key(self, cursor: Incremental[Any], table: ReflectedTable) -> None:
        """Have rows that are read again known by the key of the table, and not by all that is in them."""
        if table.primary_key and self._reads_columns(table.primary_key, table):
            cursor.use_key(list(table.primary_key))

    def _reads_columns(self, names: tuple[str, ...], table: ReflectedTable) -> bool:
        return set(names) <= dict(self._columns(table)).keys()

    def _settle_limit(self, cursor: Incremental[Any]) -> float:
        """How long running transactions are waited for: not where rows are read again in any case."""
        knows = self.options.database.jdbc.dialect.catalog == "postgres"
        return self.options.settle if knows and cursor.end_value is None and cursor.terms.is_max else 0

    def _columns(self, table: ReflectedTable) -> tuple[tuple[str, TypeMapping | None], ...]:
        """The columns that are wanted; none where nothing is known of them, and all are."""
        dialect = self.options.database.jdbc.dialect
        known = {one.name: type_mapping(one, dialect) for one in table.columns}
        named = (*(self.included_columns or ()), *self.excluded_columns)
        if missing := [name for name in named if known and name not in known]:
            raise unknown_column_error(self.name, missing[0], known)
        wanted = self.included_columns if self.included_columns is not None else tuple(known)
        return tuple((name, known.get(name)) for name in wanted if name not in self.excluded_columns)

    def _spark_types(self, table: ReflectedTable, *, is_windowed: bool) -> Mapping[str, str]:
        """The types that Spark sees, where the database was not asked, and somebody needs to know."""
        if table.columns or not (is_windowed or self.partition_column):
            return {}
        return self.options.database.column_types(replace(self._row_query(table, {}), columns=()).select())

    def _row_query(self, table: ReflectedTable, spark_types: Mapping[str, str]) -> RowQuery:
        """What is read, and how the database compares what a cursor is on."""
        dialect = self.options.database.jdbc.dialect
        rows = RowQuery(
            dialect=dialect,
            table=None if self.query is not None else self.name,
            schema=self.options.schema or None,
            query=self.query,
            columns=self._columns(table),
        )
        match dialect.catalog:
            case "postgres":
                kinds, texts = postgres_comparison(table.columns, spark_types)
                return replace(rows, postgres_types=kinds, text_columns=texts)
            case "mysql":
                texts, days = mysql_comparison(table.columns, spark_types, dialect)
                return replace(rows, text_columns=texts, date_columns=days)
            case _:
                return rows

    def window(
        self,
        cursor: Incremental[Any],
        table: ReflectedTable,
        spark_types: Mapping[str, str],
        row_query: RowQuery,
    ) -> CursorWindow:
        """The range of a cursor, as the database is asked for it."""
        column, terms = cursor.get_cursor_column_name(), cursor.terms
        if column is None or (table.column(column) is None and column not in spark_types):
            raise UsageError(
                f"the incremental of {self.name} is on {cursor.cursor_path!r}, which is none of its columns",
                hint="name a column of the table",
            )
        if spark_types.get(column, "").startswith("char(") and row_query.dialect.catalog == "mysql":
            raise UsageError(
                f"the incremental of {self.name} is on {column!r}, which Spark fills up with spaces",
                hint="cast it in the query, as in CAST(state AS CHAR) AS state",
            )
        return CursorWindow(
            column=column,
            is_max=terms.is_max,
            start=cursor.start_value,
            end=cursor.end_value,
            is_start_open=terms.range_start == "open",
            is_end_open=terms.range_end == "open",
            includes_nulls=terms.on_cursor_value_missing != "exclude"
            and (column in row_query.date_columns or _is_nullable(table, column)),
        )

    def partition_key(
        self, table: ReflectedTable, spark_types: Mapping[str, str]
    ) -> tuple[str, KeyKind, bool] | None:
        """The column that ranges are cut of, its kind, and whether it can be null.

        A row whose value changes goes from one range to another while they are read, and may be read twice or
        not at all. So nobody but the user chooses a column that is no key.
        """
        named = self.partition_column
        if named is not None and (seen_as := spark_key_kind(spark_types.get(named, ""))) is not None:
            return named, seen_as, True
        dialect = self.options.database.jdbc.dialect
        for name in (named,) if named else (*table.primary_key[:1], *table.unique):
            column = table.column(name)
            kind = type_mapping(column, dialect) if column else None
            if column is None or kind is None or kind.key_kind is None:
                continue
            if named or not column.nullable:
                return name, kind.key_kind, column.nullable
        if named is not None:
            raise UsageError(
                f"no ranges can be cut of the column {named!r} of {self.name}",
                hint="partition_column takes numbers, dates, moments and texts",
            )
        return None

    def _hints(
        self, table: ReflectedTable, columns: tuple[tuple[str, TypeMapping | None], ...]
    ) -> TableHints:
        """What the database says, where the user says nothing."""
        said = getattr(getattr(current_context().resource, "declaration", None), "hints", NO_HINTS)
        if not table.columns:
            return NO_HINTS
        wanted, theirs = dict(columns), said.columns if hasattr(said.columns, "items") else {}
        key = () if said.primary_key is not None else table.primary_key
        told: dict[str, Mapping[str, Any]] = {}
        for one in table.columns:
            if one.name in wanted:
                own = column_hint(
                    one, wanted[one.name], level=self.options.reflection_level, is_key=one.name in key
                )
                told[one.name] = {**own, **dict(theirs.get(one.name, {}))}
        if not self._reads_columns(key, table):
            LOG.warning("%s has no key here: not all of its key (%s) is read", self.name, ", ".join(key))
            key = ()
        return make_hints(
            columns=told,
            primary_key=list(key) or said.primary_key,
            references=said.references or self._references(table),
        )

    def _references(self, table: ReflectedTable) -> list[dict[str, Any]] | None:
        if not self.options.resolve_foreign_keys or not table.references:
            return None
        return [
            {
                "columns": list(one.columns),
                "referenced_table": one.referenced_table,
                "referenced_columns": list(one.referenced_columns),
            }
            for one in table.references
        ]


def _visible_window(
    database: Database, row_query: RowQuery, window: CursorWindow, *, limit: float
) -> Iterator[CursorWindow]:
    """The window, in the end up to where all rows are there; without a limit as it is."""
    if limit <= 0:
        yield window
        return
    found = wait_for_visible_value(database, row_query, window.column, limit=limit)
    reached = next(found)
    for after in found:
        yield window
        reached = after
    yield replace(window, visible_until=reached, is_empty=reached is None)


def _is_nullable(table: ReflectedTable, column: str) -> bool:
    found = table.column(column)
    return found is None or found.nullable
