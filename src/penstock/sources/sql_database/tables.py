"""One table or query while it is read: asked about, cut into ranges, and given as one DataFrame."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from penstock.config import logger
from penstock.errors import UsageError
from penstock.interfaces.current import current
from penstock.interfaces.hints import NO_HINTS, TableHints, make_hints
from penstock.interfaces.items import HintsMark, Marked
from penstock.sources.sql_database.columns import (
    compared_by_mysql,
    compared_by_postgres,
    hint_of,
    kind_of,
    seen_key,
)
from penstock.sources.sql_database.facts import TableFacts
from penstock.sources.sql_database.plan import WHOLE
from penstock.sources.sql_database.run import Database, facts_of, ranges_of, settled, union
from penstock.sources.sql_database.shaping import no_column, shaped, without
from penstock.sources.sql_database.texts import Rows, Window

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from penstock.interfaces.incremental import Incremental
    from penstock.sources.sql_database.budget import Budget
    from penstock.sources.sql_database.columns import ColumnKind, KeyKind, ReflectionLevel
    from penstock.sources.sql_database.plan import Range

LOG = logger("penstock.sources.sql_database")


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What is the same for all tables of a source."""

    database: Database
    schema: str
    budget: Budget
    partitions: int
    settle: float
    level: ReflectionLevel
    resolve_foreign_keys: bool = False


class Catalog:
    """What the database says of its tables; asked for once in a run, when the first of them is read."""

    def __init__(self, terms: Terms, tables: tuple[str, ...] | None) -> None:
        self._terms, self._tables = terms, tables
        self._lock = threading.Lock()
        self._facts: dict[str, TableFacts] | None = None
        self._lender: object = None
        """Who lends sessions in the run that the facts are of."""

    @property
    def is_told(self) -> bool:
        """Whether the database tells of its tables."""
        return self._terms.database.place.dialect.catalog != "none"

    def ask(self) -> dict[str, TableFacts]:
        """All of them by name, as they are now."""
        return facts_of(self._terms.database, self._terms.schema, self._tables)

    def all(self) -> dict[str, TableFacts]:
        """All of them by name, as they were when the run began to read."""
        with self._lock:
            lender = current().sessions
            if self._facts is None or self._lender is not lender:
                self._facts, self._lender = self.ask(), lender
            return self._facts

    def table(self, name: str) -> TableFacts:
        """One of them; where the database does not tell of tables, nothing but its name is known."""
        if not self.is_told:
            return TableFacts(name=name)
        found = self.all().get(name)
        if found is None:
            raise UsageError(
                f"the database has no table {name!r} in {self._terms.schema!r}",
                hint="names are those of the database, in its upper and lower case; schema= says where",
            )
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class TableReading:
    """One table or query, and how it is to be read."""

    terms: Terms
    name: str
    catalog: Catalog | None = None
    """None for a query."""
    query: str | None = None
    included: tuple[str, ...] | None = None
    excluded: tuple[str, ...] = ()
    partition_column: str | None = None

    def frames(self, cursor: Incremental[Any] | None) -> Iterator[Any]:
        """The rows as one DataFrame, in the time in which there are connections for it."""
        budget, database = self.terms.budget, self.terms.database
        with budget.taking(1) as asking:
            yield from asking.wait()
            facts = self.catalog.table(self.name) if self.catalog else TableFacts(name=self.name)
            columns, seen = self._columns(facts), self._seen(facts, is_windowed=cursor is not None)
            rows = self._rows(facts, seen)
            if cursor is not None:
                self._tell_key(cursor, facts)
                window = self.window(cursor, facts, seen, rows)
                for reached in _settled_window(database, rows, window, limit=self._limit(cursor)):
                    yield None
                    window = reached
                rows = replace(rows, window=window)
            key = self.key(facts, seen)
            ranges: tuple[Range, ...] = WHOLE
            if key is not None:
                ranges = ranges_of(database, rows, key, partitions=self.terms.partitions, facts=facts)
        hints = self._hints(facts, columns)
        with budget.taking(len(ranges)) as reading:
            yield from reading.wait()
            parts = [rows.within(key[0], one, key[1]) if key else "" for one in ranges]
            frame = shaped(union([database.read(rows.select(part)) for part in parts]), dict(columns))
            frame = frame if facts.columns else without(frame, self.excluded, table=self.name)
            yield Marked(frame, HintsMark(hints)) if hints is not NO_HINTS else frame
            # Asked for more, so the rows are written, and the connections are free.

    def _tell_key(self, cursor: Incremental[Any], facts: TableFacts) -> None:
        """Have rows that are read again known by the key of the table, and not by all that is in them."""
        if facts.primary_key and self._reads(facts.primary_key, facts):
            cursor.use_key(list(facts.primary_key))

    def _reads(self, names: tuple[str, ...], facts: TableFacts) -> bool:
        return set(names) <= dict(self._columns(facts)).keys()

    def _limit(self, cursor: Incremental[Any]) -> float:
        """How long running transactions are waited for: not where rows are read again in any case."""
        knows = self.terms.database.place.dialect.catalog == "postgres"
        return self.terms.settle if knows and cursor.end_value is None and cursor.terms.is_max else 0

    def _columns(self, facts: TableFacts) -> tuple[tuple[str, ColumnKind | None], ...]:
        """The columns that are wanted; none where nothing is known of them, and all are."""
        dialect = self.terms.database.place.dialect
        known = {one.name: kind_of(one, dialect) for one in facts.columns}
        named = (*(self.included or ()), *self.excluded)
        if missing := [name for name in named if known and name not in known]:
            raise no_column(self.name, missing[0], known)
        wanted = self.included if self.included is not None else tuple(known)
        return tuple((name, known.get(name)) for name in wanted if name not in self.excluded)

    def _seen(self, facts: TableFacts, *, is_windowed: bool) -> Mapping[str, str]:
        """The types that Spark sees, where the database was not asked, and somebody needs to know."""
        if facts.columns or not (is_windowed or self.partition_column):
            return {}
        return self.terms.database.types(replace(self._rows(facts, {}), columns=()).select())

    def _rows(self, facts: TableFacts, seen: Mapping[str, str]) -> Rows:
        """What is read, and how the database compares what a cursor is on."""
        dialect = self.terms.database.place.dialect
        rows = Rows(
            dialect=dialect,
            table=None if self.query is not None else self.name,
            schema=self.terms.schema or None,
            query=self.query,
            columns=self._columns(facts),
        )
        match dialect.catalog:
            case "postgres":
                kinds, texts = compared_by_postgres(facts.columns, seen)
                return replace(rows, kinds=kinds, texts=texts)
            case "mysql":
                texts, days = compared_by_mysql(facts.columns, seen, dialect)
                return replace(rows, texts=texts, days=days)
            case _:
                return rows

    def window(
        self, cursor: Incremental[Any], facts: TableFacts, seen: Mapping[str, str], rows: Rows
    ) -> Window:
        """The range of a cursor, as the database is asked for it."""
        column, terms = cursor.get_cursor_column_name(), cursor.terms
        if column is None or (facts.column(column) is None and column not in seen):
            raise UsageError(
                f"the incremental of {self.name} is on {cursor.cursor_path!r}, which is none of its columns",
                hint="name a column of the table",
            )
        if seen.get(column, "").startswith("char(") and rows.dialect.catalog == "mysql":
            raise UsageError(
                f"the incremental of {self.name} is on {column!r}, which Spark fills up with spaces",
                hint="cast it in the query, as in CAST(state AS CHAR) AS state",
            )
        return Window(
            column=column,
            is_max=terms.is_max,
            start=cursor.start_value,
            end=cursor.end_value,
            is_start_open=terms.range_start == "open",
            is_end_open=terms.range_end == "open",
            keeps_missing=terms.on_cursor_value_missing != "exclude"
            and (column in rows.days or _may_be_null(facts, column)),
        )

    def key(self, facts: TableFacts, seen: Mapping[str, str]) -> tuple[str, KeyKind, bool] | None:
        """The column that ranges are cut of, its kind, and whether it can be null.

        A row whose value changes goes from one range to another while they are read, and may be read twice or
        not at all. So nobody but the user chooses a column that is no key.
        """
        named = self.partition_column
        if named is not None and (seen_as := seen_key(seen.get(named, ""))) is not None:
            return named, seen_as, True
        dialect = self.terms.database.place.dialect
        for name in (named,) if named else (*facts.primary_key[:1], *facts.unique):
            column = facts.column(name)
            kind = kind_of(column, dialect) if column else None
            if column is None or kind is None or kind.key is None:
                continue
            if named or not column.nullable:
                return name, kind.key, column.nullable
        if named is not None:
            raise UsageError(
                f"no ranges can be cut of the column {named!r} of {self.name}",
                hint="partition_column takes numbers, dates, moments and texts",
            )
        return None

    def _hints(self, facts: TableFacts, columns: tuple[tuple[str, ColumnKind | None], ...]) -> TableHints:
        """What the database says, where the user says nothing."""
        said = getattr(getattr(current().resource, "declaration", None), "hints", NO_HINTS)
        if not facts.columns:
            return NO_HINTS
        wanted, theirs = dict(columns), said.columns if hasattr(said.columns, "items") else {}
        key = () if said.primary_key is not None else facts.primary_key
        told: dict[str, Mapping[str, Any]] = {}
        for one in facts.columns:
            if one.name in wanted:
                own = hint_of(one, wanted[one.name], level=self.terms.level, is_key=one.name in key)
                told[one.name] = {**own, **dict(theirs.get(one.name, {}))}
        if not self._reads(key, facts):
            LOG.warning("%s has no key here: not all of its key (%s) is read", self.name, ", ".join(key))
            key = ()
        return make_hints(
            columns=told,
            primary_key=list(key) or said.primary_key,
            references=said.references or self._references(facts),
        )

    def _references(self, facts: TableFacts) -> list[dict[str, Any]] | None:
        if not self.terms.resolve_foreign_keys or not facts.references:
            return None
        return [
            {
                "columns": list(one.columns),
                "referenced_table": one.table,
                "referenced_columns": list(one.referenced),
            }
            for one in facts.references
        ]


def _settled_window(database: Database, rows: Rows, window: Window, *, limit: float) -> Iterator[Window]:
    """The window, in the end up to where all rows are there; without a limit as it is."""
    if limit <= 0:
        yield window
        return
    found = settled(database, rows, window.column, limit=limit)
    reached = next(found)
    for after in found:
        yield window
        reached = after
    yield replace(window, settled=reached, is_empty=reached is None)


def _may_be_null(facts: TableFacts, column: str) -> bool:
    found = facts.column(column)
    return found is None or found.nullable
