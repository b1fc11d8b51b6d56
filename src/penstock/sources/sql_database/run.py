"""Queries of a database through Spark, and the DataFrames of its tables."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

from penstock.config import logger
from penstock.errors import JdbcDriverMissing, TransactionsRunning, UsageError
from penstock.interfaces.run_context import current_context
from penstock.sources.current import spark as lent_session
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
from penstock.sources.sql_database.reflection import columns_query, keys_query, reflected_tables
from penstock.sources.sql_database.snapshot_wait import (
    RunningTransaction,
    parse_snapshot,
    running_query,
    snapshot_query,
)
from penstock.spark.database_errors import as_database_error, database_error
from penstock.spark.presets import MASKING_CONF
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
_SPARK_STOPPED: Final = ("stopped SparkContext", "SparkContext was shut down", "StatusCode.UNAVAILABLE")
_DRIVER_MISSING: Final = ("ClassNotFoundException", "No suitable driver", "CANNOT_LOAD_DRIVER")


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """A database that Spark sessions read."""

    jdbc: JdbcConfig
    fetch_size: int = 10_000

    @staticmethod
    def session() -> SparkSession:
        """Return the session that reads the database."""
        return _session()

    def read(self, query: str) -> DataFrame:
        """Return the lazy frame of a query, which one task reads."""
        session = _session()
        try:
            return session.read.format("jdbc").options(**self._options(), query=query).load()
        except Exception as error:  # classic sessions raise Java errors unchanged
            dialect = self.jdbc.dialect
            if any(word in str(error) for word in _DRIVER_MISSING):
                raise JdbcDriverMissing(
                    database=dialect.name, driver=dialect.driver, jar=dialect.jar
                ) from None
            if any(word in str(error) for word in _SPARK_STOPPED):
                raise
            raise database_error(dialect.name, _driver_message(str(error))) from error

    def rows(self, query: str) -> list[dict[str, Any]]:
        """Return the rows of a small result, with column names in lower case, as databases differ in it."""
        frame = self.read(query)
        try:
            rows = frame.collect()
        except Exception as error:  # as above
            wrapped = as_database_error(error, database=self.jdbc.dialect.name)
            if wrapped is None:
                raise
            raise wrapped from error
        return [{name.lower(): value for name, value in row.asDict().items()} for row in rows]

    def column_types(self, query: str) -> dict[str, str]:
        """Return the Spark types of the columns of a query without running it."""
        return {
            field.name: field.metadata.get(_DECLARED_TYPE_KEY) or field.dataType.simpleString()
            for field in self.read(query).schema.fields
        }

    def _options(self) -> dict[str, str]:
        # Timestamps without a time zone are read as such, independent of the session's time zone.
        defaults = {
            "fetchsize": str(self.fetch_size),
            "preferTimestampNTZ": "true",
            "pushDownPredicate": "false",
        }
        return {**defaults, **self.jdbc.properties, "url": self.jdbc.url}


def _driver_message(error: str) -> str:
    r"""Return the message of the driver, without the lines that Spark adds.

    >>> _driver_message("An error occurred while calling o7.load.\n: org.x.SQLException: no such host")
    'org.x.SQLException: no such host'
    """
    lines = [line.strip().removeprefix(": ") for line in error.splitlines() if line.strip()]
    return next((line for line in lines if not line.startswith("An error occurred while calling")), error)


class NoSession(Exception):
    """No usable Spark session exists outside a run: none, or only one of Spark Connect."""


def _session() -> SparkSession:
    """Return the session of the run, or an existing one outside a run, with secrets masked in its plans.

    A Spark Connect client sends plans with all options, and the server logs them.
    """
    if current_context().lend_session is None:
        existing = existing_session(None)
        if existing is None or is_connect(existing):
            raise NoSession
        return existing
    session: SparkSession = lent_session()
    if not is_connect(session):
        return session
    if not hasattr(session, "cloneSession"):
        raise UsageError(
            "this Spark Connect client cannot clone sessions, so the password would be logged with the plan",
            hint="use a client of Spark 4.1 or later, or a classic session",
        )
    masking_session: SparkSession = lent_session(MASKING_CONF)
    return masking_session


def union(frames: Sequence[DataFrame]) -> DataFrame:
    """Return the ranges as one frame with one task for each."""
    return reduce(lambda merged, frame: merged.unionAll(frame), frames)


def row_count(frame: DataFrame) -> int:
    """Return the number of rows of a loaded table."""
    return frame.count()


def reflect_tables(
    database: Database, schema: str, tables: tuple[str, ...] | None
) -> dict[str, ReflectedTable]:
    """Return these tables, or all tables, from the catalog of the database."""
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
    """Return ranges of a key with about the same number of rows; `key` is its name, kind and nullability."""
    name, kind, nullable = key
    # The range of null keys needs a connection too.
    ranges = range_count(partitions=partitions - nullable, size=table.size)
    if ranges <= 1:
        return WHOLE_TABLE
    if table.heap is not None:
        percent = min(100.0, 100.0 * _SAMPLE_PAGES / max(1, table.heap // _PAGE_BYTES))
        sample = database.rows(key_sample_query(row_query, name, ranges=ranges, percent=percent))
        cuts = [row["cut"] for row in sample if row["cut"] is not None]
        return ranges_between(cuts, nullable=nullable)
    if kind == "text":
        return WHOLE_TABLE
    # By rows too if a window selects few rows of the table.
    by_rows = table.size is None or bool(row_query.window_conditions())
    cuts = _bounds_by_counting(database, row_query, (name, kind), partitions=ranges, by_rows=by_rows)
    return ranges_between(cuts, nullable=nullable)


def _bounds_by_counting(
    database: Database, row_query: RowQuery, key: tuple[str, KeyKind], *, partitions: int, by_rows: bool
) -> list[str]:
    """Return balanced bounds by counting the rows in cells and dividing heavy cells again.

    With `by_rows` the number of ranges depends on the rows, because their size is unknown.
    """
    name, kind = key
    (edges,) = database.rows(key_statistics_query(row_query, name, kind))
    ranges = range_count(partitions=partitions, rows=int(edges["row_count"]) if by_rows else None)
    if edges["least"] is None or ranges == 1:
        return []
    try:
        low, high = key_to_int(edges["least"], kind), key_to_int(edges["most"], kind, round_up=True)
    except (ValueError, ArithmeticError):
        LOG.info("%s is not divided into ranges from %s to %s", name, edges["least"], edges["most"])
        return []
    bounds = cell_bounds(low, high, ranges * CELLS_PER_RANGE)
    if not bounds:
        return []
    counts = _count_cells(database, row_query, key, bounds)
    for _ in range(_MAX_ROUNDS):
        refined = refined_bounds(bounds, counts, low=low, high=high, partitions=ranges)
        if refined == bounds:
            break
        bounds, counts = refined, _count_cells(database, row_query, key, refined)
    return [int_to_key(bound, kind) for bound in balanced_bounds(bounds, counts, partitions=ranges)]


def _count_cells(
    database: Database, row_query: RowQuery, key: tuple[str, KeyKind], bounds: Sequence[int]
) -> list[int]:
    name, kind = key
    query = cell_counts_query(row_query, name, kind, [int_to_key(bound, kind) for bound in bounds])
    counts = {int(row["cell"]): int(row["row_count"]) for row in database.rows(query)}
    return [counts.get(number, 0) for number in range(len(bounds) + 1)]


def wait_for_visible_value(
    database: Database, row_query: RowQuery, column: str, *, limit: float
) -> Iterator[str | None]:
    """Yield None while transactions of the snapshot run, then the value up to which rows are committed.

    Raise when a writing transaction runs longer than `limit` seconds.
    """
    (row,) = database.rows(snapshot_query(row_query, column))
    snapshot = parse_snapshot(row)
    if snapshot.is_standby:
        LOG.warning(
            "rows are read from a standby, which does not show transactions of its primary; use a lag"
        )
    start, running = time.monotonic(), snapshot.running
    while running and snapshot.value is not None:
        transactions = [RunningTransaction(**row) for row in database.rows(running_query(running))]
        running = tuple(transaction.name for transaction in transactions)
        if running and time.monotonic() - start >= limit:
            if any(transaction.writes for transaction in transactions):
                raise TransactionsRunning(column=column, seconds=limit, transactions=running)
            LOG.warning("continuing without %s transactions that have not written anything", len(running))
            break
        if running:
            time.sleep(_POLL_INTERVAL)
            yield None
    yield snapshot.value
