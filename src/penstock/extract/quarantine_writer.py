"""Quarantine of rows that cannot be encoded, with the reason."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from penstock.errors import RowNotEncodable
from penstock.extract.encode import encode
from penstock.package.quarantine import QUARANTINE_TABLE, ROOT_PATH, UNREADABLE_RULE

if TYPE_CHECKING:
    from penstock.extract.plan import OnBadRow
    from penstock.extract.routing import Route
    from penstock.extract.table_writers import TableWriters

_MAX_REPR_CHARS = 10_000


class QuarantineWriter:
    """Writes the quarantine table. Each row records its resource, its position and its repr."""

    def __init__(self, writers: TableWriters, *, on_bad_row: OnBadRow) -> None:
        self._writers, self._on_bad_row = writers, on_bad_row
        self.rows: Counter[str] = Counter()

    def write(self, row: Any, error: Exception, *, route: Route, number: int) -> None:
        """Quarantine a row; raise an error if `on_bad_row` is `fail`."""
        if self._on_bad_row == "fail":
            raise RowNotEncodable(
                resource=route.resource, item=number, cause=rejection_reason(error)
            ) from error
        record = {
            "resource_name": route.resource,
            "table_name": route.table,
            "path": ROOT_PATH,
            "rule": UNREADABLE_RULE,
            "item": number,
            "reason": rejection_reason(error),
            "raw": truncated_repr(row),
        }
        self._writers.write(
            self._writers.writer_for(QUARANTINE_TABLE, resource=route.resource), encode(record)
        )
        self.rows[route.resource] += 1

    def add_count(self, resource: str, rows: int) -> None:
        """Count rows that Spark has quarantined; raise an error if `on_bad_row` is `fail`."""
        if rows and self._on_bad_row == "fail":
            raise RowNotEncodable(resource=resource, item="any", cause=f"{rows} rows could not be read")
        self.rows[resource] += rows


def rejection_reason(error: Exception) -> str:
    """Return why a row was refused, in the words of the encoder."""
    if isinstance(error, RecursionError) or "ecursion" in str(error):
        return "it is nested too deeply"
    return str(error)


def truncated_repr(row: Any) -> str:
    """Return the repr of a row, truncated; the name of its type if the repr fails."""
    try:
        text = repr(row)
    except Exception as error:  # a user's `__repr__` may raise anything
        text = f"<{type(row).__name__}: {type(error).__name__} in its repr>"
    return text.encode("utf-8", "replace").decode()[:_MAX_REPR_CHARS]
