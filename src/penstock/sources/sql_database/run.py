"""Asks a database through Spark, and makes the DataFrames that are read from it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

from penstock.config import logger
from penstock.errors import JdbcDriverMissing, TransactionsRunning, UsageError
from penstock.interfaces.run_context import current_context
from penstock.sources.current import spark as lent_session
from penstock.sources.sql_database.catalog_queries import columns_query, keys_query
from penstock.sources.sql_database.plan import (
    CELLS_PER_RANGE,
    WHOLE_TABLE,
    balanced_bounds,
    cell_bounds,
    range_count,
    ranges_between,
    refined_bounds,
)
from penstock.sources.sql_database.queries import (
    cell_counts_query,
    int_to_key,
    key_sample_query,
    key_statistics_query,
    key_to_int,
)
from penstock.sources.sql_database.reflection import reflected_tables
from penstock.sources.sql_database.snapshot_wait import (
    RunningTransaction,
    parse_snapshot,
    running_query,
    snapshot_query,
)
from penstock.spark.database_errors import as_database_error, database_error
from penstock.spark.session import existing_session, is_connect

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from penstock.sources.sql_database.column_types import KeyKind
    from penstock.sources.sql_database.jdbc import JdbcConfig
    from penstock.sources.sql_database.plan import PartitionRange
    from penstock.sources.sql_database.queries import RowQuery
    from penstock.sources.sql_database.reflection import ReflectedTable

LOG = logger("penstock.sources.sql_database")
_SAMPLE_PAGES: Final = 1_000
_PAGE_BYTES: Final = 8192
_MAX_ROUNDS: Final = 4
_POLL_INTERVAL: Final = 0.2
_DECLARED_TYPE_KEY: Final = "__CHAR_VARCHAR_TYPE_STRING"
# Of the plans that a server writes down, Spark masks what this finds: all options but those that tell what is
# read, for the properties of drivers are many.
_SECRET_OPTION: Final = r'key: "(?!(?:query|fetchsize|driver)")[^"]*"\s*value: "(?:[^"\\]|\\.)*"'  # noqa: S105 (a pattern)
_REDACTION_CONF: Final = {"spark.sql.redaction.string.regex": _SECRET_OPTION}
_SPARK_STOPPED: Final = ("stopped SparkContext", "SparkContext was shut down", "StatusCode.UNAVAILABLE")
_DRIVER_MISSING: Final = ("ClassNotFoundException", "No suitable driver", "CANNOT_LOAD_DRIVER")


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """A database, as sessions of Spark see it."""

    jdbc: JdbcConfig
    fetch_size: int = 10_000

    def read(self, query: str) -> DataFrame:
        """The rows of a query, read by one task when they are wanted."""
        session = _session()
        try:
            return session.read.format("jdbc").options(**self._options(), query=query).load()
        except Exception as error:  # classic sessions let errors of Java through as they are
            dialect = self.jdbc.dialect
            if any(word in str(error) for word in _DRIVER_MISSING):
                raise JdbcDriverMissing(
                    database=dialect.name, driver=dialect.driver, jar=dialect.jar
                ) from None
            if any(word in str(error) for word in _SPARK_STOPPED):
                raise
            raise database_error(dialect.name, _driver_message(str(error))) from error

    def rows(self, query: str) -> list[dict[str, Any]]:
        """The rows of a small answer; some databases write the names of its columns in capitals."""
        frame = self.read(query)
        try:
            found = frame.collect()
        except Exception as error:  # as above
            fault = as_database_error(error, database=self.jdbc.dialect.name)
            if fault is None:
                raise
            raise fault from error
        return [{name.lower(): value for name, value in row.asDict().items()} for row in found]

    def column_types(self, query: str) -> dict[str, str]:
        """The columns of a query with their types as Spark writes them; it is not run."""
        fields = self.read(query).schema.fields
        return {
            one.name: one.metadata.get(_DECLARED_TYPE_KEY) or one.dataType.simpleString() for one in fields
        }

    def _options(self) -> dict[str, str]:
        # Moments without a zone stay without one: no time zone of a session has a say.
        told = {"fetchsize": str(self.fetch_size), "preferTimestampNTZ": "true", "pushDownPredicate": "false"}
        return {**told, **self.jdbc.properties, "url": self.jdbc.url}


def _driver_message(error: str) -> str:
    r"""What a driver said, of the many lines in which Spark tells it.

    >>> _driver_message("An error occurred while calling o7.load.\n: org.x.SQLException: no such host")
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
    if current_context().lend_session is None:
        found = existing_session(None)
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
    masking: SparkSession = lent_session(_REDACTION_CONF)
    return masking


def union(frames: Sequence[DataFrame]) -> DataFrame:
    """All ranges as one frame; each is one task."""
    return reduce(lambda one, other: one.unionAll(other), frames)


def reflect_tables(
    database: Database, schema: str, tables: tuple[str, ...] | None
) -> dict[str, ReflectedTable]:
    """What the database says of these tables, or of all."""
    dialect = database.jdbc.dialect
    columns = database.rows(columns_query(dialect, schema, tables))
    return reflected_tables(columns, database.rows(keys_query(dialect, schema, tables)))


def partition_ranges(
    database: Database,
    row_query: RowQuery,
    key: tuple[str, KeyKind, bool],
    *,
    partitions: int,
    table: ReflectedTable,
) -> tuple[PartitionRange, ...]:
    """Ranges of a key, its kind, and whether it can be null, with about the same number of rows each."""
    name, kind, nullable = key
    # Keys that are null need a connection too.
    wanted = range_count(partitions=partitions - nullable, size=table.size)
    if wanted <= 1:
        return WHOLE_TABLE
    if table.heap is not None:
        percent = min(100.0, 100.0 * _SAMPLE_PAGES / max(1, table.heap // _PAGE_BYTES))
        found = database.rows(key_sample_query(row_query, name, ranges=wanted, percent=percent))
        cuts = [row["cut"] for row in found if row["cut"] is not None]
        return ranges_between(cuts, nullable=nullable)
    if kind == "text":
        return WHOLE_TABLE
    # The size is that of the whole table, and a window may have few of its rows.
    by_rows = table.size is None or bool(row_query.window_conditions())
    cuts = _bounds_by_counting(database, row_query, (name, kind), partitions=wanted, by_rows=by_rows)
    return ranges_between(cuts, nullable=nullable)


def _bounds_by_counting(
    database: Database, row_query: RowQuery, key: tuple[str, KeyKind], *, partitions: int, by_rows: bool
) -> list[str]:
    """Bounds found by counting cells, and cutting again those that hold too much.

    By rows where nobody knows their size: a few rows can be much to read.
    """
    name, kind = key
    (edges,) = database.rows(key_statistics_query(row_query, name, kind))
    wanted = range_count(partitions=partitions, rows=int(edges["found"]) if by_rows else None)
    if edges["least"] is None or wanted == 1:
        return []
    try:
        least, most = key_to_int(edges["least"], kind), key_to_int(edges["most"], kind, round_up=True)
    except (ValueError, ArithmeticError):
        LOG.info("no ranges are cut from %s to %s of %s", edges["least"], edges["most"], name)
        return []
    bounds = cell_bounds(least, most, wanted * CELLS_PER_RANGE)
    if not bounds:
        return []
    counts = _count_cells(database, row_query, key, bounds)
    for _ in range(_MAX_ROUNDS):
        cut = refined_bounds(bounds, counts, low=least, high=most, partitions=wanted)
        if cut == bounds:
            break
        bounds, counts = cut, _count_cells(database, row_query, key, cut)
    return [int_to_key(bound, kind) for bound in balanced_bounds(bounds, counts, partitions=wanted)]


def _count_cells(
    database: Database, row_query: RowQuery, key: tuple[str, KeyKind], bounds: Sequence[int]
) -> list[int]:
    name, kind = key
    text = cell_counts_query(row_query, name, kind, [int_to_key(bound, kind) for bound in bounds])
    found = {int(row["cell"]): int(row["found"]) for row in database.rows(text)}
    return [found.get(number, 0) for number in range(len(bounds) + 1)]


def wait_for_visible_value(
    database: Database, row_query: RowQuery, column: str, *, limit: float
) -> Iterator[str | None]:
    """How far all rows are there, at the end; until then nothing, again and again."""
    (answer,) = database.rows(snapshot_query(row_query, column))
    reached = parse_snapshot(answer)
    if reached.is_standby:
        LOG.warning("the rows come from a standby: transactions of its primary cannot be seen; use a lag")
    began, left = time.monotonic(), reached.running
    while left and reached.value is not None:
        found = [RunningTransaction(**row) for row in database.rows(running_query(left))]
        left = tuple(one.name for one in found)
        if left and time.monotonic() - began >= limit:
            if any(one.writes for one in found):
                raise TransactionsRunning(column=column, seconds=limit, transactions=left)
            LOG.warning("%s transactions that have written nothing so far are not waited for", len(left))
            break
        if left:
            time.sleep(_POLL_INTERVAL)
            yield None
    yield reached.value
