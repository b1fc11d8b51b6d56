"""Rows that cannot be written are put aside, with the reason, and the others go on."""

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
    """The table of rows that were put aside. Each is told by its resource, its number and what it was."""

    def __init__(self, writers: TableWriters, *, on_bad_row: OnBadRow) -> None:
        self._writers, self._on_bad_row = writers, on_bad_row
        self.rows: Counter[str] = Counter()

    def write(self, row: Any, error: Exception, *, route: Route, number: int) -> None:
        """Keep a row that was refused; where that is not wanted, its error ends the extraction."""
        if self._on_bad_row == "fail":
            raise RowNotEncodable(
                resource=route.resource, item=number, cause=rejection_reason(error)
            ) from error
        told = {
            "resource_name": route.resource,
            "table_name": route.table,
            "path": ROOT_PATH,
            "rule": UNREADABLE_RULE,
            "item": number,
            "reason": rejection_reason(error),
            "raw": truncated_repr(row),
        }
        self._writers.write(self._writers.writer_for(QUARANTINE_TABLE, resource=route.resource), encode(told))
        self.rows[route.resource] += 1

    def add_count(self, resource: str, rows: int) -> None:
        """Rows that Spark has put aside; where that is not wanted, they end the extraction."""
        if rows and self._on_bad_row == "fail":
            raise RowNotEncodable(resource=resource, item="any", cause=f"{rows} rows could not be read")
        self.rows[resource] += rows


def rejection_reason(error: Exception) -> str:
    """Why a row was refused, in the words of whoever refused it."""
    if isinstance(error, RecursionError) or "ecursion" in str(error):
        return "it is nested too deeply"
    return str(error)


def truncated_repr(row: Any) -> str:
    """The row as Python shows it, cut; what cannot even be shown is told by its type."""
    try:
        text = repr(row)
    except Exception as error:  # any class may break in its own way while it is shown
        text = f"<{type(row).__name__}: {type(error).__name__} while it was shown>"
    return text.encode("utf-8", "replace").decode()[:_MAX_REPR_CHARS]
