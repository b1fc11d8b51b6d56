"""How far rows are all there: a cursor's value may be given out long before its row is committed.

A transaction takes 7 from a sequence, or its own beginning from the clock, and another takes 8 and commits
first. Who reads up to 8 and goes on from there never sees 7. So the furthest value is asked for together with
the transactions that are running; once those are over, all rows up to that value are there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from sqlglot import exp

from penstock.sources.sql_database.dialects import APPLICATION_NAME

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from penstock.sources.sql_database.queries import RowQuery

# Every transaction holds the lock of its own virtual id, and everybody may see that. A prepared one has no
# process any more, and holds the lock of its id, which does not say of which database it is. Types without a
# MAX have an order all the same, and an index of the column gives its last entry for this as well.
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
    """A transaction that was running when the furthest value was asked for, and still is."""

    name: str
    writes: bool
    """Whether it has written anything, or is about to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CursorSnapshot:
    """The furthest value that can be seen, as a text, and who was running then."""

    value: str | None
    running: tuple[str, ...]
    is_standby: bool = False


def snapshot_query(row_query: RowQuery, column: str) -> str:
    """Asks for the furthest value and for who is running, in this order: one statement, one snapshot."""
    return _SNAPSHOT_SQL.format(
        compared=row_query.comparable(column),
        column=row_query.column(column),
        source=row_query.from_clause,
        reader=_literal(APPLICATION_NAME),
    )


def running_query(names: Iterable[str]) -> str:
    """Asks who of these is still running."""
    return _RUNNING_SQL.format(names=", ".join(_literal(name) for name in names))


def parse_snapshot(row: Mapping[str, Any]) -> CursorSnapshot:
    """Read the answer."""
    running = tuple(name for name in str(row["running"] or "").split(",") if name)
    return CursorSnapshot(value=row["reached"], running=running, is_standby=bool(row["is_standby"]))


def _literal(text: str) -> str:
    return exp.Literal.string(text).sql(dialect="postgres")
