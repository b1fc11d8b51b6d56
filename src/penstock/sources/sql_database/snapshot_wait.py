"""The wait for running transactions, which may commit rows below the highest cursor value.

A transaction takes 7 from a sequence, or its start time from the clock; another one takes 8 and commits
first. A reader that reads up to 8 and continues from there never reads 7. So one query returns the highest
value and the running transactions; once these have ended, all rows up to that value are committed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from sqlglot import exp

from penstock.sources.sql_database.dialects import APPLICATION_NAME

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from penstock.sources.sql_database.queries import RowQuery

# Every transaction locks its virtual id, which all users can see. A prepared transaction has no process and
# locks its id, which does not name its database. ORDER BY also works for types without MAX, by an index.
_SNAPSHOT_SQL: Final = """
SELECT CAST((
    SELECT {compared} FROM {source} WHERE {column} IS NOT NULL ORDER BY {compared} DESC LIMIT 1
  ) AS TEXT) AS reached, pg_is_in_recovery() AS is_standby,
  ARRAY_TO_STRING(ARRAY(
    SELECT l.virtualtransaction FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
    WHERE l.locktype = 'virtualxid' AND l.mode = 'ExclusiveLock' AND l.pid <> pg_backend_pid()
      AND a.datname = current_database() AND a.usesysid IS NOT NULL AND a.application_name <> {reader}
    UNION
    SELECT l.virtualtransaction FROM pg_locks l JOIN pg_prepared_xacts p ON p.transaction = l.transactionid
    WHERE l.locktype = 'transactionid' AND l.mode = 'ExclusiveLock' AND l.pid IS NULL
      AND p.database = current_database()
  ), ',') AS running
"""
_RUNNING_SQL: Final = """
SELECT l.virtualtransaction AS name,
  BOOL_OR(l.locktype = 'transactionid' OR (l.locktype = 'relation' AND l.mode IN
    ('RowExclusiveLock', 'ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock'))
  ) AS writes
FROM pg_locks l
WHERE l.virtualtransaction IN ({names})
GROUP BY 1
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningTransaction:
    """A transaction of the snapshot that is still running."""

    name: str
    writes: bool
    """Whether it has written, or holds a lock to write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CursorSnapshot:
    """The highest visible value as text, and the transactions that were running at the same time."""

    value: str | None
    running: tuple[str, ...]
    is_standby: bool = False


def snapshot_query(row_query: RowQuery, column: str) -> str:
    """Return the query for the highest value and the running transactions in one snapshot."""
    return _SNAPSHOT_SQL.format(
        compared=row_query.comparable(column),
        column=row_query.column(column),
        source=row_query.from_clause,
        reader=_literal(APPLICATION_NAME),
    )


def running_query(names: Iterable[str]) -> str:
    """Return the query for those of these transactions that are still running."""
    return _RUNNING_SQL.format(names=", ".join(_literal(name) for name in names))


def parse_snapshot(row: Mapping[str, Any]) -> CursorSnapshot:
    """Parse the row of a snapshot query."""
    running = tuple(name for name in str(row["running"] or "").split(",") if name)
    return CursorSnapshot(value=row["reached"], running=running, is_standby=bool(row["is_standby"]))


def _literal(text: str) -> str:
    return exp.Literal.string(text).sql(dialect="postgres")
