"""SQL that finds values which go into none of the columns that were decided for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.package.conversions import converted
from penstock.package.picking import picked
from penstock.package.unfold import elements_at

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.normalize.plan import Doubt


def has_unfit(doubts: Iterable[Doubt], *, row: str, corrupt: str) -> str:
    """Whether a row whose every value is known holds one that its column does not take after all."""
    odd = [f"{corrupt} IS NOT NULL", *(unfit(doubt, row) for doubt in doubts)]
    return either(odd)


def unfit(doubt: Doubt, row: str) -> str:
    """Whether a value goes into none of the columns that were decided for it."""

    def at(number: int, above: str) -> str:
        if number == len(doubt.lists):
            return _is_left_over(doubt, above)
        name = f"e{number}"
        found = [
            f"exists({elements_at(access, stored, row=above)}, {name} -> {at(number + 1, name)})"
            for access, stored in doubt.lists[number]
        ]
        return f"({either(found)})"

    return at(0, row)


def count_unfit(doubt: Doubt, row: str) -> str:
    """How many such values there are that go into none of these columns."""

    def at(number: int, above: str) -> str:
        if number == len(doubt.lists):
            return f"int({_is_left_over(doubt, above)})"
        name = f"e{number}"
        each = (
            f"coalesce(aggregate({elements_at(access, stored, row=above)}, 0L,"
            f" (n{number}, {name}) -> n{number} + bigint({at(number + 1, name)})), 0L)"
            for access, stored in doubt.lists[number]
        )
        return f"({' + '.join(each)})"

    return f"sum({at(0, row)})"


def _is_left_over(doubt: Doubt, row: str) -> str:
    def fails(value: str) -> str:
        refused = (
            _is_refused(converted(value, doubt.kind, to), narrow)
            for to, narrow in zip(doubt.to, doubt.narrow, strict=True)
        )
        return " AND ".join((f"{value} IS NOT NULL", *refused))

    found = picked(doubt.access.sql(row), doubt.stored, doubt.kind)
    if doubt.stored in ("text", "bigint", "double", "bool"):
        return f"({fails(found)})"
    # What takes work is picked once: it goes through a list of one.
    return f"exists(array({found}), v -> {fails('v')})"


def _is_refused(found: str, narrow: str | None) -> str:
    if narrow is None:
        return f"{found} IS NULL"
    held = f"try_cast({found} AS {narrow})"
    return f"({held} IS NULL OR {held} != {found})"


def either(conditions: Iterable[str]) -> str:
    """Whether any of these is certainly so."""
    return " OR ".join(f"coalesce({one}, false)" for one in conditions)
