"""SQL that finds values which go into none of the columns that were decided for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.package.projection.convert import converted_value
from penstock.package.projection.explode import list_elements
from penstock.package.projection.typed_values import typed_value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.normalize.plan import UncertainValue


def has_unconvertible(uncertain_values: Iterable[UncertainValue], *, row: str, corrupt: str) -> str:
    """Whether a row whose every value is known holds one that its column does not take after all."""
    odd = [f"{corrupt} IS NOT NULL", *(is_unconvertible(doubt, row) for doubt in uncertain_values)]
    return any_true(odd)


def is_unconvertible(uncertain: UncertainValue, row: str) -> str:
    """Whether a value goes into none of the columns that were decided for it."""

    def at(number: int, above: str) -> str:
        if number == len(uncertain.lists):
            return _is_value_unconvertible(uncertain, above)
        name = f"e{number}"
        found = [
            f"exists({list_elements(access, stored, row=above)}, {name} -> {at(number + 1, name)})"
            for access, stored in uncertain.lists[number]
        ]
        return f"({any_true(found)})"

    return at(0, row)


def unconvertible_count(uncertain: UncertainValue, row: str) -> str:
    """How many such values there are that go into none of these columns."""

    def at(number: int, above: str) -> str:
        if number == len(uncertain.lists):
            return f"int({_is_value_unconvertible(uncertain, above)})"
        name = f"e{number}"
        each = (
            f"coalesce(aggregate({list_elements(access, stored, row=above)}, 0L,"
            f" (n{number}, {name}) -> n{number} + bigint({at(number + 1, name)})), 0L)"
            for access, stored in uncertain.lists[number]
        )
        return f"({' + '.join(each)})"

    return f"sum({at(0, row)})"


def _is_value_unconvertible(uncertain: UncertainValue, row: str) -> str:
    def fails(value: str) -> str:
        refused = (
            _is_null_or_lossy(converted_value(value, uncertain.kind, to), narrow)
            for to, narrow in zip(uncertain.target_types, uncertain.narrower_types, strict=True)
        )
        return " AND ".join((f"{value} IS NOT NULL", *refused))

    found = typed_value(uncertain.access.sql(row), uncertain.storage_form, uncertain.kind)
    if uncertain.storage_form in ("text", "bigint", "double", "bool"):
        return f"({fails(found)})"
    # What takes work is picked once: it goes through a list of one.
    return f"exists(array({found}), v -> {fails('v')})"


def _is_null_or_lossy(converted_sql: str, narrow: str | None) -> str:
    if narrow is None:
        return f"{converted_sql} IS NULL"
    held = f"try_cast({converted_sql} AS {narrow})"
    return f"({held} IS NULL OR {held} != {converted_sql})"


def any_true(conditions: Iterable[str]) -> str:
    """Whether any of these is certainly so."""
    return " OR ".join(f"coalesce({one}, false)" for one in conditions)
