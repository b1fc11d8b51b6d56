"""Tables that other programs wrote, as a destination describes them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from penstock.schema import Column


@dataclass(frozen=True, slots=True, kw_only=True)
class ExistingTable:
    """A table at one version: its columns with the types of a schema, and the number of its rows."""

    name: str
    version: int | None
    """None before the first commit."""
    columns: Mapping[str, Column]
    rows: int | None
    """None if the log of the table does not count them."""
    hints: Mapping[str, Any] = field(default_factory=dict)
    """Hints of the table, such as the transforms of its partitions."""


class WithExistingTables(ABC):
    """Can describe tables that no load wrote, and read the last rows of them.

    The client has a session that is opened at its first use: tables that a library can read need none.
    """

    @abstractmethod
    def describe_table(self, table: str) -> ExistingTable:
        """Return the current version of a table; raise `UsageError` if loads cannot continue it."""

    @abstractmethod
    def rows_at_maximum(self, table: ExistingTable, column: str, columns: Sequence[str]) -> pa.Table:
        """Return these columns of the rows with the greatest value of `column`, which is among them.

        Nulls and NaN in it raise `UsageError`. A table without rows has none.
        """
