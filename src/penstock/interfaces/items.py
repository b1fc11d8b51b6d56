"""Items with marks: the table of an item, or hints that apply from this item on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.interfaces.hints import TableHints


@dataclass(frozen=True, slots=True)
class TableNameMark:
    """The table of the item."""

    table_name: str


@dataclass(frozen=True, slots=True)
class HintsMark:
    """Hints that apply from this item on; with `variant`, only to the table that they name."""

    hints: TableHints
    variant: bool = False


Mark = TableNameMark | HintsMark


class MarkedItem:
    """An item and its mark; everything made from the item inherits the mark.

    Not a dataclass, because dataclass items are rows.
    """

    __slots__ = ("item", "mark")

    def __init__(self, item: Any, mark: Mark | None) -> None:
        self.item, self.mark = item, mark

    def __repr__(self) -> str:
        return f"Marked({self.item!r}, {self.mark!r})"


class EmptyTable(list[Any]):
    """A page without rows, for a table that is created nevertheless."""

    __slots__ = ()
