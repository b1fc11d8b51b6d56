"""The staged rows of a load, as its transaction reads them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from penstock.package.layout import POSITION_COLUMN

if TYPE_CHECKING:
    from sqlglot import exp

POSITION: Final = POSITION_COLUMN
"""The column of staged rows with the position of their root row, which is ordered by its bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedTable:
    """The rows of a load for one table, as a relation of the database."""

    relation: exp.Query | exp.Table
    """A query, or a table without an alias, with the column `POSITION` where rows are merged."""
    columns: tuple[str, ...]
    """The columns that the relation has, without `POSITION`."""
    is_temporary: bool = False
    """Whether it is a table that the transaction drops at its end."""
