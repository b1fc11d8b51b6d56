"""The reader of one table or query: reflection, window of the cursor, ranges, and one DataFrame."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F

from penstock.config import logger
from penstock.errors import UsageError
from penstock.interfaces.file_schema import LOGICAL_TYPE_KEY
from penstock.interfaces.hints import NO_HINTS, TableHints, make_hints
from penstock.interfaces.items import HintsMark, MarkedItem
from penstock.interfaces.run_context import current_context
from penstock.package.sql import quote_name
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
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pyspark.sql import Column, DataFrame

    from penstock.interfaces.incremental import Incremental
    from penstock.sources.sql_database.column_types import KeyKind, ReflectionLevel, TypeMapping
    from penstock.sources.sql_database.connections import ConnectionBudget
    from penstock.sources.sql_database.missing_rows import DeleteMissing
    from penstock.sources.sql_database.plan import PartitionRange

LOG = logger("penstock.sources.sql_database")


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlOptions:
    """The options that all tables of a source share."""

    database: Database
    schema: str
    connections: ConnectionBudget
    partitions: int
    settle: float
    reflection_level: ReflectionLevel
    resolve_foreign_keys: bool = False


class DatabaseReflection:
    """The reflected tables of a database, read once per run when the first table is read."""

    def __init__(self, options: SqlOptions, table_names: tuple[str, ...] | None) -> None:
        self._options, self._table_names = options, table_names
        self._lock = threading.Lock()
        self._reflected: dict[str, ReflectedTable] | None = None
        self._session_lender: object = None
        """The session lender of the run that the reflected tables belong to."""

    @property
    def is_supported(self) -> bool:
        """Whether the database can be reflected."""
        return self._options.database.jdbc.dialect.catalog != "none"

    def reflect(self) -> dict[str, ReflectedTable]:
        """Read all tables from the database, by name."""
        return reflect_tables(self._options.database, self._options.schema, self._table_names)

    def tables(self) -> dict[str, ReflectedTable]:
        """Return all tables by name, as they were at the first read of the run."""
        with self._lock:
            lender = current_context().lend_session
            if self._reflected is None or self._session_lender is not lender:
                self._reflected, self._session_lender = self.reflect(), lender
            return self._reflected

    def table(self, name: str) -> ReflectedTable:
        """Return a table; only its name if the database cannot be reflected."""
        if not self.is_supported:
            return ReflectedTable(name=name)
        table = self.tables().get(name)
        if table is None:
            raise UsageError(
                f"the database has no table {name!r} in {self._options.schema!r}",
                hint="check upper and lower case of the name, and schema=",
            )
        return table


@dataclass(frozen=True, slots=True, kw_only=True)
class TableReader:
    """One table or query with its options."""

    options: SqlOptions
    name: str
    reflection: DatabaseReflection | None = None
    """None for a query."""
    query: str | None = None
    included_columns: tuple[str, ...] | None = None
    excluded_columns: tuple[str, ...] = ()
    partition_column: str | None = None
    deletions: DeleteMissing | None = None

    def frames(self, cursor: Incremental[Any] | None) -> Iterator[Any]:
        """Yield the rows as one DataFrame; yield None while connections or transactions are awaited."""
        budget, database = self.options.connections, self.options.database
        with budget.reserve(1) as reservation:
            yield from reservation.wait()
            table = self.reflection.table(self.name) if self.reflection else ReflectedTable(name=self.name)
            columns = self._columns(table)
            spark_types = self._spark_types(table, is_windowed=cursor is not None)
            rows = self._row_query(table, spark_types)
        hints = self._hints(table, columns)
        if self.deletions is not None:
            yield from self._missing_rows(self.deletions, rows, table, spark_types, hints)
        with budget.reserve(1) as reservation:
            yield from reservation.wait()
            if cursor is not None:
                self._set_cursor_key(cursor, table)
                window = self.window(cursor, table, spark_types, rows)
                for visible in _visible_window(database, rows, window, limit=self._settle_limit(cursor)):
                    yield None
                    window = visible
                rows = replace(rows, window=window)
            key = self.partition_key(table, spark_types)
            ranges: tuple[PartitionRange, ...] = WHOLE_TABLE
            if key is not None:
                ranges = partition_ranges(
                    database, rows, key, partitions=self.options.partitions, table=table
                )
        with budget.reserve(len(ranges)) as reservation:
            yield from reservation.wait()
            frame = self._read_ranges(rows, key, ranges)
            frame = frame if table.columns else drop_columns(frame, self.excluded_columns, table=self.name)
            # The connections are released when the next item is requested: then the rows are written.
            yield MarkedItem(frame, HintsMark(hints)) if hints is not NO_HINTS else frame

    def _read_ranges(
        self, rows: RowQuery, key: tuple[str, KeyKind, bool] | None, ranges: Iterable[PartitionRange]
    ) -> DataFrame:
        conditions = [rows.range_condition(key[0], key_range, key[1]) if key else "" for key_range in ranges]
        frames = [self.options.database.read(rows.select(condition)) for condition in conditions]
        return cast_text_columns(union(frames), dict(rows.columns))

    def _missing_rows(
        self,
        deletions: DeleteMissing,
        rows: RowQuery,
        table: ReflectedTable,
        spark_types: Mapping[str, str],
        hints: TableHints,
    ) -> Iterator[Any]:
        """Yield the deletions of loaded rows that the database lacks; the first load has none.

        All keys are read before the rows: a row that is inserted meanwhile is not loaded yet, so it is not
        deleted, and rows that are read win over their deletion.
        """
        context, user_hints = current_context(), _user_hints()
        key_names = deletions.key_of(self.name, hints, user_hints)
        if context.read_loaded is None or context.package is None:
            return
        budget, database = self.options.connections, self.options.database
        if user_hints.has_dynamic_table_name:
            raise UsageError(
                f"delete_missing needs one table, and that of {self.name} depends on its rows",
                hint="pass a text as table_name",
            )
        name = str(user_hints.table_name or context.resource_name)
        loaded = context.read_loaded(name, database.session())
        if loaded is None:
            return
        mappings = dict(rows.columns)
        keys = replace(rows, columns=tuple((name, mappings.get(name)) for name in key_names))
        key = self.partition_key(table, spark_types)
        ranges: tuple[PartitionRange, ...] = WHOLE_TABLE
        if key is not None:
            with budget.reserve(1) as reservation:
                yield from reservation.wait()
                ranges = partition_ranges(
                    database, keys, key, partitions=self.options.partitions, table=table
                )
        with budget.reserve(len(ranges)) as reservation:
            yield from reservation.wait()
            deleted = deletions.deletions(
                loaded,
                self._read_ranges(keys, key, ranges),
                key=key_names,
                columns=tuple(mappings),
                user_hints=user_hints,
                deleted_at=context.package.document["state"]["created_at"],
                report=context.metrics if context.metrics is not None else {},
            )
            yield MarkedItem(deleted, HintsMark(hints))

    def _set_cursor_key(self, cursor: Incremental[Any], table: ReflectedTable) -> None:
        """Deduplicate rows that are read again by the key of the table instead of the whole row."""
        if table.primary_key and self._reads_columns(table.primary_key, table):
            cursor.use_key(list(table.primary_key))

    def _reads_columns(self, names: tuple[str, ...], table: ReflectedTable) -> bool:
        return set(names) <= dict(self._columns(table)).keys()

    def _settle_limit(self, cursor: Incremental[Any]) -> float:
        """Return the seconds to wait for running transactions; 0 if rows are read again in any case."""
        is_postgres = self.options.database.jdbc.dialect.catalog == "postgres"
        return self.options.settle if is_postgres and cursor.end_value is None and cursor.terms.is_max else 0

    def _columns(self, table: ReflectedTable) -> tuple[tuple[str, TypeMapping | None], ...]:
        """Return the columns to read with their mappings; empty for all columns, without reflection."""
        dialect = self.options.database.jdbc.dialect
        mappings = {column.name: type_mapping(column, dialect) for column in table.columns}
        named = (*(self.included_columns or ()), *self.excluded_columns)
        if missing := [name for name in named if mappings and name not in mappings]:
            raise unknown_column_error(self.name, missing[0], mappings)
        included = self.included_columns if self.included_columns is not None else tuple(mappings)
        return tuple((name, mappings.get(name)) for name in included if name not in self.excluded_columns)

    def _spark_types(self, table: ReflectedTable, *, is_windowed: bool) -> Mapping[str, str]:
        """Return the Spark types of columns without reflection, for a cursor or a partition column."""
        if table.columns or not (is_windowed or self.partition_column):
            return {}
        return self.options.database.column_types(replace(self._row_query(table, {}), columns=()).select())

    def _row_query(self, table: ReflectedTable, spark_types: Mapping[str, str]) -> RowQuery:
        """Return the query for the rows, with the types that a comparison with a cursor needs."""
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
                types, texts = postgres_comparison(table.columns, spark_types)
                return replace(rows, postgres_types=types, text_columns=texts)
            case "mysql":
                texts, dates = mysql_comparison(table.columns, spark_types, dialect)
                return replace(rows, text_columns=texts, date_columns=dates)
            case _:
                return rows

    def window(
        self,
        cursor: Incremental[Any],
        table: ReflectedTable,
        spark_types: Mapping[str, str],
        row_query: RowQuery,
    ) -> CursorWindow:
        """Return the window of a cursor for the query."""
        column, terms = cursor.get_cursor_column_name(), cursor.terms
        if column is None or (table.column(column) is None and column not in spark_types):
            raise UsageError(
                f"the incremental of {self.name} is on {cursor.cursor_path!r}, which is not a column of it",
                hint="name a column of the table",
            )
        if spark_types.get(column, "").startswith("char(") and row_query.dialect.catalog == "mysql":
            raise UsageError(
                f"the incremental of {self.name} is on {column!r}, which Spark pads with spaces",
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
        """Return the column for ranges, its kind, and whether it can be null.

        A row whose value changes during the read may be read twice or not at all. So only the user can choose
        a column that is not a key.
        """
        named = self.partition_column
        if named is not None and (spark_kind := spark_key_kind(spark_types.get(named, ""))) is not None:
            return named, spark_kind, True
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
                f"the column {named!r} of {self.name} cannot be divided into ranges",
                hint="use a partition_column of numbers, dates, timestamps or texts",
            )
        return None

    def _hints(
        self, table: ReflectedTable, columns: tuple[tuple[str, TypeMapping | None], ...]
    ) -> TableHints:
        """Return the hints from the database; hints of the user win."""
        user_hints = _user_hints()
        if not table.columns:
            return self._with_deletions(NO_HINTS, user_hints)
        mappings = dict(columns)
        user_columns = user_hints.columns if hasattr(user_hints.columns, "items") else {}
        key = () if user_hints.primary_key is not None else table.primary_key
        column_hints: dict[str, Mapping[str, Any]] = {}
        for column in table.columns:
            name = column.name
            if name in mappings:
                hint = column_hint(
                    column, mappings[name], level=self.options.reflection_level, is_key=name in key
                )
                column_hints[name] = {**hint, **dict(user_columns.get(name, {}))}
        if not self._reads_columns(key, table):
            LOG.warning(
                "%s is loaded without a primary key, because columns of its key (%s) are excluded",
                self.name,
                ", ".join(key),
            )
            key = ()
        hints = make_hints(
            columns=column_hints,
            primary_key=list(key) or user_hints.primary_key,
            references=user_hints.references or self._references(table),
        )
        return self._with_deletions(hints, user_hints)

    def _with_deletions(self, hints: TableHints, user_hints: TableHints) -> TableHints:
        return hints if self.deletions is None else self.deletions.with_hints(hints, user_hints)

    def _references(self, table: ReflectedTable) -> list[dict[str, Any]] | None:
        if not self.options.resolve_foreign_keys or not table.references:
            return None
        return [
            {
                "columns": list(reference.columns),
                "referenced_table": reference.referenced_table,
                "referenced_columns": list(reference.referenced_columns),
            }
            for reference in table.references
        ]


def _user_hints() -> TableHints:
    """Return the hints of the resource that is read."""
    hints: TableHints = getattr(getattr(current_context().resource, "declaration", None), "hints", NO_HINTS)
    return hints


def _visible_window(
    database: Database, row_query: RowQuery, window: CursorWindow, *, limit: float
) -> Iterator[CursorWindow]:
    """Yield the window while waiting, then the window up to the last committed value."""
    if limit <= 0:
        yield window
        return
    values = wait_for_visible_value(database, row_query, window.column, limit=limit)
    visible_until = next(values)
    for value in values:
        yield window
        visible_until = value
    yield replace(window, visible_until=visible_until, is_empty=visible_until is None)


def _is_nullable(table: ReflectedTable, column: str) -> bool:
    reflected = table.column(column)
    return reflected is None or reflected.nullable


DECIMAL_DIGITS: Final = (38, 9)
_FITS_DECIMAL: Final = r"^-?[0-9]{1,29}(\.[0-9]{1,9}0*)?$"


def cast_text_columns(frame: DataFrame, mappings: Mapping[str, TypeMapping | None]) -> DataFrame:
    """Return the frame with text-encoded columns converted: JSON, times, and decimals of any length.

    A number that is too long for Spark is kept as text in a variant column instead of being rounded.
    """
    if not any(mapping is not None and mapping.is_text_encoded for mapping in mappings.values()):
        return frame
    return frame.select(
        *(column for name in frame.columns for column in _cast_columns(name, mappings.get(name)))
    )


def drop_columns(frame: DataFrame, names: Sequence[str], *, table: str) -> DataFrame:
    """Return the frame without excluded columns, for a table without reflection."""
    columns = frame.columns if names else ()
    if missing := [name for name in names if name not in columns]:
        raise unknown_column_error(table, missing[0], columns)
    return frame.drop(*names)


def unknown_column_error(table: str, column: str, columns: Iterable[str]) -> UsageError:
    """Return the error for a name that is not a column."""
    return UsageError(f"{table} has no column {column!r}", hint=f"its columns are: {', '.join(columns)}")


def _cast_columns(name: str, mapping: TypeMapping | None) -> Iterator[Column]:
    column = F.col(quote_name(name))
    if mapping is None or not mapping.is_text_encoded:
        yield column
    elif mapping.data_type == "decimal":
        fits = column.rlike(_FITS_DECIMAL)
        precision, scale = DECIMAL_DIGITS
        yield F.when(fits, column.cast(f"decimal({precision},{scale})")).alias(name)
        yield F.when(~fits, column).alias(f"{name}__v_text")
    else:
        yield column.alias(name, metadata={LOGICAL_TYPE_KEY: mapping.data_type})
