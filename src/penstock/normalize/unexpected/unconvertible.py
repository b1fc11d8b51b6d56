"""SQL for values that none of the columns decided for them can hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.package.projection.convert import converted_value
from penstock.package.projection.explode import list_elements
from penstock.package.projection.typed_values import typed_value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.normalize.plan import UncertainValue


def has_unconvertible(uncertain_values: Iterable[UncertainValue], *, row: str, corrupt: str) -> str:
    """Return SQL for whether a row of expected values has one that no column takes."""
    return any_true([f"{corrupt} IS NOT NULL", *(is_unconvertible(value, row) for value in uncertain_values)])


def is_unconvertible(uncertain: UncertainValue, row: str) -> str:
    """Return SQL for whether a row has such a value that none of its columns takes."""

    def in_level(number: int, parent: str) -> str:
        if number == len(uncertain.lists):
            return _is_value_unconvertible(uncertain, parent)
        name = f"e{number}"
        conditions = [
            f"exists({list_elements(access, stored, row=parent)}, {name} -> {in_level(number + 1, name)})"
            for access, stored in uncertain.lists[number]
        ]
        return f"({any_true(conditions)})"

    return in_level(0, row)


def unconvertible_count(uncertain: UncertainValue, row: str) -> str:
    """Return SQL for the number of such values that none of their columns takes."""

    def in_level(number: int, parent: str) -> str:
        if number == len(uncertain.lists):
            return f"int({_is_value_unconvertible(uncertain, parent)})"
        name = f"e{number}"
        counts = (
            f"coalesce(aggregate({list_elements(access, stored, row=parent)}, 0L,"
            f" (n{number}, {name}) -> n{number} + bigint({in_level(number + 1, name)})), 0L)"
            for access, stored in uncertain.lists[number]
        )
        return f"({' + '.join(counts)})"

    return f"sum({in_level(0, row)})"


def _is_value_unconvertible(uncertain: UncertainValue, row: str) -> str:
    def fails(value: str) -> str:
        refused = (
            _is_null_or_lossy(converted_value(value, uncertain.kind, to), narrow)
            for to, narrow in zip(uncertain.target_types, uncertain.narrower_types, strict=True)
        )
        return " AND ".join((f"{value} IS NOT NULL", *refused))

    value = typed_value(uncertain.access.sql(row), uncertain.storage_form, uncertain.kind)
    if uncertain.storage_form in ("text", "bigint", "double", "bool"):
        return f"({fails(value)})"
    # A list of one element, so that an expensive value is computed once.
    return f"exists(array({value}), v -> {fails('v')})"


def _is_null_or_lossy(converted_sql: str, narrow: str | None) -> str:
    if narrow is None:
        return f"{converted_sql} IS NULL"
    cast = f"try_cast({converted_sql} AS {narrow})"
    return f"({cast} IS NULL OR {cast} != {converted_sql})"


def any_true(conditions: Iterable[str]) -> str:
    """Return SQL for whether any condition is true, with NULL as false."""
    return " OR ".join(f"coalesce({condition}, false)" for condition in conditions)
