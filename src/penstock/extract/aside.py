"""Rows that cannot be written are put aside, with the reason, and the others go on."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from penstock.errors import RowNotEncodable
from penstock.extract.encode import encode
from penstock.package.quarantine import ROOT_PATH, TABLE, UNREADABLE

if TYPE_CHECKING:
    from penstock.extract.plan import BadRows
    from penstock.extract.tables import Route
    from penstock.extract.writers import Writers

_LONGEST = 10_000


class Aside:
    """The table of rows that were put aside. Each is told by its resource, its number and what it was."""

    def __init__(self, writers: Writers, *, on_bad_row: BadRows) -> None:
        self._writers, self._on_bad_row = writers, on_bad_row
        self.rows: Counter[str] = Counter()

    def put(self, row: Any, error: Exception, *, route: Route, number: int) -> None:
        """Keep a row that was refused; where that is not wanted, its error ends the extraction."""
        if self._on_bad_row == "fail":
            raise RowNotEncodable(resource=route.resource, item=number, cause=reason(error)) from error
        told = {
            "resource_name": route.resource,
            "table_name": route.table,
            "path": ROOT_PATH,
            "rule": UNREADABLE,
            "item": number,
            "reason": reason(error),
            "raw": shown(row),
        }
        self._writers.write(self._writers.table(TABLE, resource=route.resource), encode(told))
        self.rows[route.resource] += 1

    def count(self, resource: str, rows: int) -> None:
        """Rows that Spark has put aside; where that is not wanted, they end the extraction."""
        if rows and self._on_bad_row == "fail":
            raise RowNotEncodable(resource=resource, item="any", cause=f"{rows} rows could not be read")
        self.rows[resource] += rows


def reason(error: Exception) -> str:
    """Why a row was refused, in the words of whoever refused it."""
    if isinstance(error, RecursionError) or "ecursion" in str(error):
        return "it is nested too deeply"
    return str(error)


def shown(row: Any) -> str:
    """The row as Python shows it, cut; what cannot even be shown is told by its type."""
    try:
        text = repr(row)
    except Exception as error:  # any class may break in its own way while it is shown
        text = f"<{type(row).__name__}: {type(error).__name__} while it was shown>"
    return text.encode("utf-8", "replace").decode()[:_LONGEST]
