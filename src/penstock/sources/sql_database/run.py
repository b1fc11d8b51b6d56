"""Asks a database through Spark, and makes the DataFrames that are read from it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

from penstock.config import logger
from penstock.errors import JdbcDriverMissing, TransactionsRunning, UsageError
from penstock.interfaces.current import current
from penstock.sources.current import spark as lent_session
from penstock.sources.sql_database.catalog import columns_text, keys_text
from penstock.sources.sql_database.facts import tables_of
from penstock.sources.sql_database.plan import CELLS, WHOLE, cells, finer, packed, ranges_between, worth
from penstock.sources.sql_database.settle import Running, reached_of, reached_text, still_text
from penstock.sources.sql_database.texts import (
    as_number,
    as_text,
    counts_text,
    edges_text,
    sample_text,
)
from penstock.spark.databases import database_error, database_fault
from penstock.spark.session import is_connect, session_at_hand

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from penstock.sources.sql_database.columns import KeyKind
    from penstock.sources.sql_database.facts import TableFacts
    from penstock.sources.sql_database.place import Place
    from penstock.sources.sql_database.plan import Range
    from penstock.sources.sql_database.texts import Rows

LOG = logger("penstock.sources.sql_database")
_PAGES: Final = 1_000
_PAGE: Final = 8192
_ROUNDS: Final = 4
_PAUSE: Final = 0.2
_DECLARED: Final = "__CHAR_VARCHAR_TYPE_STRING"
# Of the plans that a server writes down, Spark masks what this finds: all options but those that tell what is
# read, for the properties of drivers are many.
_OPTION: Final = r'key: "(?!(?:query|fetchsize|driver)")[^"]*"\s*value: "(?:[^"\\]|\\.)*"'
_HIDDEN: Final = {"spark.sql.redaction.string.regex": _OPTION}
_NO_SPARK: Final = ("stopped SparkContext", "SparkContext was shut down", "StatusCode.UNAVAILABLE")
_NO_DRIVER: Final = ("ClassNotFoundException", "No suitable driver", "CANNOT_LOAD_DRIVER")


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """A database, as sessions of Spark see it."""

    place: Place
    fetch_size: int = 10_000

    def read(self, query: str) -> DataFrame:
        """The rows of a query, read by one task when they are wanted."""
        session = _session()
        try:
            return session.read.format("jdbc").options(**self._options(), query=query).load()
        except Exception as error:  # classic sessions let errors of Java through as they are
            dialect = self.place.dialect
            if any(word in str(error) for word in _NO_DRIVER):
                raise JdbcDriverMissing(
                    database=dialect.name, driver=dialect.driver, jar=dialect.jar
                ) from None
            if any(word in str(error) for word in _NO_SPARK):
                raise
            raise database_error(dialect.name, _said(str(error))) from error

    def rows(self, query: str) -> list[dict[str, Any]]:
        """The rows of a small answer; some databases write the names of its columns in capitals."""
        frame = self.read(query)
        try:
            found = frame.collect()
        except Exception as error:  # as above
            fault = database_fault(error, database=self.place.dialect.name)
            if fault is None:
                raise
            raise fault from error
        return [{name.lower(): value for name, value in row.asDict().items()} for row in found]

    def types(self, query: str) -> dict[str, str]:
        """The columns of a query with their types as Spark writes them; it is not run."""
        fields = self.read(query).schema.fields
        return {one.name: one.metadata.get(_DECLARED) or one.dataType.simpleString() for one in fields}

    def _options(self) -> dict[str, str]:
        # Moments without a zone stay without one: no time zone of a session has a say.
        told = {"fetchsize": str(self.fetch_size), "preferTimestampNTZ": "true", "pushDownPredicate": "false"}
        return {**told, **self.place.properties, "url": self.place.url}


def _said(error: str) -> str:
    r"""What a driver said, of the many lines in which Spark tells it.

    >>> _said("An error occurred while calling o7.load.\n: org.x.SQLException: no such host\n\tat org.x.A")
    'org.x.SQLException: no such host'
    """
    lines = [line.strip().removeprefix(": ") for line in error.splitlines() if line.strip()]
    return next((line for line in lines if not line.startswith("An error occurred while calling")), error)


class NoSession(Exception):
    """No session of Spark is there to ask with: none at all, or none of our own over Spark Connect."""


def _session() -> SparkSession:
    """The session that the run lends, or one that is there; what opens the database is in no plan of either.

    A client of Spark Connect sends its plans with all options, and the server writes them down.
    """
    if current().sessions is None:
        found = session_at_hand(None)
        if found is None or is_connect(found):
            raise NoSession
        return found
    lent: SparkSession = lent_session()
    if not is_connect(lent):
        return lent
    if not hasattr(lent, "cloneSession"):
        raise UsageError(
            "this Spark Connect client cannot clone sessions: yours would have to mask the password",
            hint="use a client of Spark 4.1 or later, or a classic session",
        )
    masking: SparkSession = lent_session(_HIDDEN)
    return masking


def union(frames: Sequence[DataFrame]) -> DataFrame:
    """All ranges as one frame; each is one task."""
    return reduce(lambda one, other: one.unionAll(other), frames)


def facts_of(database: Database, schema: str, tables: tuple[str, ...] | None) -> dict[str, TableFacts]:
    """What the database says of these tables, or of all."""
    dialect = database.place.dialect
    columns = database.rows(columns_text(dialect, schema, tables))
    return tables_of(columns, database.rows(keys_text(dialect, schema, tables)))


def ranges_of(
    database: Database, rows: Rows, key: tuple[str, KeyKind, bool], *, partitions: int, facts: TableFacts
) -> tuple[Range, ...]:
    """Ranges of a key, its kind, and whether it can be null, with about the same number of rows each."""
    name, kind, nullable = key
    # Keys that are null need a connection too.
    wanted = worth(partitions=partitions - nullable, size=facts.size)
    if wanted <= 1:
        return WHOLE
    if facts.heap is not None:
        percent = min(100.0, 100.0 * _PAGES / max(1, facts.heap // _PAGE))
        found = database.rows(sample_text(rows, name, ranges=wanted, percent=percent))
        cuts = [row["cut"] for row in found if row["cut"] is not None]
        return ranges_between(cuts, nullable=nullable)
    if kind == "text":
        return WHOLE
    # The size is that of the whole table, and a window may have few of its rows.
    by_rows = facts.size is None or bool(rows.inside())
    cuts = _counted(database, rows, (name, kind), partitions=wanted, by_rows=by_rows)
    return ranges_between(cuts, nullable=nullable)


def _counted(
    database: Database, rows: Rows, key: tuple[str, KeyKind], *, partitions: int, by_rows: bool
) -> list[str]:
    """Bounds found by counting cells, and cutting again those that hold too much.

    By rows where nobody knows their size: a few rows can be much to read.
    """
    name, kind = key
    (edges,) = database.rows(edges_text(rows, name, kind))
    wanted = worth(partitions=partitions, rows=int(edges["found"]) if by_rows else None)
    if edges["least"] is None or wanted == 1:
        return []
    try:
        least, most = as_number(edges["least"], kind), as_number(edges["most"], kind, up=True)
    except (ValueError, ArithmeticError):
        LOG.info("no ranges are cut from %s to %s of %s", edges["least"], edges["most"], name)
        return []
    bounds = cells(least, most, wanted * CELLS)
    if not bounds:
        return []
    counts = _count(database, rows, key, bounds)
    for _ in range(_ROUNDS):
        cut = finer(bounds, counts, least=least, most=most, partitions=wanted)
        if cut == bounds:
            break
        bounds, counts = cut, _count(database, rows, key, cut)
    return [as_text(bound, kind) for bound in packed(bounds, counts, partitions=wanted)]


def _count(database: Database, rows: Rows, key: tuple[str, KeyKind], bounds: Sequence[int]) -> list[int]:
    name, kind = key
    text = counts_text(rows, name, kind, [as_text(bound, kind) for bound in bounds])
    found = {int(row["cell"]): int(row["found"]) for row in database.rows(text)}
    return [found.get(number, 0) for number in range(len(bounds) + 1)]


def settled(database: Database, rows: Rows, column: str, *, limit: float) -> Iterator[str | None]:
    """How far all rows are there, at the end; until then nothing, again and again."""
    (answer,) = database.rows(reached_text(rows, column))
    reached = reached_of(answer)
    if reached.is_standby:
        LOG.warning("the rows come from a standby: transactions of its primary cannot be seen; use a lag")
    began, left = time.monotonic(), reached.running
    while left and reached.value is not None:
        found = [Running(**row) for row in database.rows(still_text(left))]
        left = tuple(one.name for one in found)
        if left and time.monotonic() - began >= limit:
            if any(one.writes for one in found):
                raise TransactionsRunning(column=column, seconds=limit, transactions=left)
            LOG.warning("%s transactions that have written nothing so far are not waited for", len(left))
            break
        if left:
            time.sleep(_PAUSE)
            yield None
    yield reached.value
