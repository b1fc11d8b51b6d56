"""Items that carry a mark: which table they belong to, or what to know about it from here on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.interfaces.hints import TableHints


@dataclass(frozen=True, slots=True)
class TableNameMark:
    """The item belongs to this table."""

    table_name: str


@dataclass(frozen=True, slots=True)
class HintsMark:
    """The resource has these hints from this item on; with `variant` only the table that they name."""

    hints: TableHints
    variant: bool = False


Mark = TableNameMark | HintsMark


class MarkedItem:
    """An item and its mark; the mark stays with everything that is made of the item.

    Not a dataclass: those are rows.
    """

    __slots__ = ("item", "mark")

    def __init__(self, item: Any, mark: Mark | None) -> None:
        self.item, self.mark = item, mark

    def __repr__(self) -> str:
        return f"Marked({self.item!r}, {self.mark!r})"


class EmptyTable(list[Any]):
    """A page without rows whose table is to be there all the same."""

    __slots__ = ()
