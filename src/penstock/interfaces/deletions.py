"""Deletions that a source computes: rows of a loaded table that it does not have any more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from penstock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.schema import NamingConvention, Table

DeleteMode = Literal["hard", "soft", "scd2"]
"""The treatment of rows that the source lacks: they are deleted, marked, or their version ends."""

DELETED_AT_COLUMN: Final = "_dlt_deleted_at"
"""The column with the time of the load that deleted a row."""
ENDS_VERSION_HINT: Final = "x-ends-version"
"""The hint of a column: a row with a value in it ends the version with its key, and begins none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedTable:
    """A table as of the last complete load."""

    frame: Any
    """A DataFrame over its rows."""
    table: Table
    naming: NamingConvention
    """The convention of its names."""
    has_nested_tables: bool


class DeletedRows:
    """A DataFrame of deletions, an item of a resource that only its table sees.

    Steps, cursors, limits and transformers are for rows. `check_count` is called with the number of written
    deletions, and raises to refuse them. Not a dataclass, because dataclass items are rows.
    """

    __slots__ = ("check_count", "frame", "mode")

    def __init__(self, frame: Any, *, mode: DeleteMode, check_count: Callable[[int], None]) -> None:
        self.frame, self.mode, self.check_count = frame, mode, check_count

    def apply_to(self, table: Table) -> bool:
        """Return whether a load deletes rows of a table: not if it replaces all; raise if it cannot."""
        strategy = table.extras.get("x-merge-strategy")
        if table.write_disposition == "replace":
            return False
        is_history = strategy == "scd2"
        if (
            table.write_disposition != "merge"
            or strategy == "insert-only"
            or is_history != (self.mode == "scd2")
        ):
            how = f"{table.write_disposition} with {strategy}" if strategy else table.write_disposition
            raise UsageError(
                f"delete_missing={self.mode!r} cannot delete rows of {table.name}, which is loaded by {how}",
                hint="use merge: with the strategy scd2 for delete_missing='scd2', otherwise with "
                "delete-insert or upsert",
            )
        return True
