"""In which order the tables of a load are applied, and what is left to apply."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from penstock.package import TableEntry
    from penstock.schema import Table

MAX_WORKERS = 4


def waves(entries: Iterable[TableEntry], tables: Mapping[str, Table]) -> list[list[TableEntry]]:
    """Nested tables first, roots last.

    Whoever sees a root row finds its children. Within a wave order is free.
    """
    nested: list[TableEntry] = []
    roots: list[TableEntry] = []
    for entry in entries:
        (nested if tables[entry.table].is_nested else roots).append(entry)
    return [wave for wave in (nested, roots) if wave]


def next_sequence(last: int | None) -> int:
    """Sequence numbers are dense and begin at 1; a clock would lose data when it goes back."""
    return (last or 0) + 1
