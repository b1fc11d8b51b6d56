"""Every Arrow type gets the column and values of dlt, except for named differences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest
from tests.oracle.frame_cases import CASES, dlt_results, penstock_result
from tests.oracle.oracle_client import BRIDGE, needs_dlt, vector

if TYPE_CHECKING:
    from collections.abc import Callable

Note = dict[str, Any]


def _columns(note: Note, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Note:
    return {**note, "columns": {name: change(column) for name, column in note["columns"].items()}}


def nested_values_become_tables(note: Note) -> Note:
    """Return whether it is nested: columns or a table in penstock, one json column in dlt."""
    columns, rows = {}, []
    for row in note["rows"]:
        for name, value in row.items():
            if isinstance(value, dict):
                columns.update({f"{name}__{key}": {"data_type": "bigint"} for key in value})
        rows.append(row)
    return {"columns": columns, "rows": rows}


def widths_are_not_kept(note: Note) -> Note:
    """Return whether only precision differs: penstock stores it for decimals alone."""
    return _columns(note, lambda column: {"data_type": column["data_type"]})


def whole_past_63_bits(note: Note) -> Note:
    """Return whether a decimal stores the values."""
    change = {"data_type": "decimal", "precision": 20, "scale": 0}
    rows = [{key: value and str(value) for key, value in row.items()} for row in note["rows"]]
    return {"columns": dict.fromkeys(note["columns"], change), "rows": rows}


def digits_past_38(note: Note) -> Note:
    """Return whether a decimal of fewer digits is stored with 38."""
    return _columns(note, lambda column: {**column, "precision": 38})


def durations_are_numbers(note: Note) -> Note:
    """Return whether dlt refuses the values."""
    assert note == {"error": "UnsupportedArrowTypeException"}
    return {
        "columns": {"durations": {"data_type": "bigint"}},
        "rows": [{"durations": 2_000_000}, {"durations": None}],
    }


DIFFERENCES: Final[dict[str, tuple[Callable[[Note], Note], tuple[str, ...]]]] = {
    "nested-values-become-tables": (nested_values_become_tables, ("structs", "lists")),
    "widths-are-not-kept": (
        widths_are_not_kept,
        (
            *("int8s", "int16s", "int32s", "uint8s", "uint16s", "uint32s", "fixed_bytes"),
            *("moments_in_seconds", "moments_in_millis", "times_in_seconds"),
        ),
    ),
    "whole-past-63-bits": (whole_past_63_bits, ("large_uint64s",)),
    "digits-past-38": (digits_past_38, ("decimals_50",)),
    "durations-are-numbers": (durations_are_numbers, ("durations",)),
}
"""All differences by their names in the documentation, and their frames."""

EXCUSES: Final[dict[str, Callable[[Note], Note]]] = {
    name: excuse for excuse, names in DIFFERENCES.values() for name in names
}


@pytest.mark.parametrize("name", CASES)
def test_a_frame_gets_the_columns_and_values_of_dlt(name: str) -> None:
    expected: Note = vector("frames.json")[name]

    assert penstock_result(CASES[name]) == (EXCUSES[name](expected) if name in EXCUSES else expected)


@pytest.mark.parametrize("name", EXCUSES)
def test_every_listed_difference_exists(name: str) -> None:
    assert penstock_result(CASES[name]) != vector("frames.json")[name]


def test_every_difference_is_explained() -> None:
    page = (BRIDGE.parents[2] / "docs" / "differences-from-dlt.md").read_text(encoding="utf-8")

    assert [name for name in DIFFERENCES if f"| `{name}` |" not in page] == []


@needs_dlt
def test_dlt_still_loads_frames_as_recorded() -> None:
    assert dlt_results() == vector("frames.json")
