"""A job file names the columns that its table needs, and no others."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracle.row_sets import rowset

from penstock.extract.encode import encode
from penstock.normalize.nested_layout import NestedLayout, build_layout
from penstock.normalize.plan import TablePlan, is_kept_as_json, plan_tables, strict_fractions
from penstock.normalize.profile import profile_rows
from penstock.normalize.pruned_columns import pruned_columns
from penstock.package.sql import quote_name
from penstock.schema import Schema, StoredSchema, decide

WIDE = [{"id": 1, "who": {"name": "a", "age": 2}, "x": [{"n": 1, "y": [1], "z": [2]}], "t": ["a"]}]


def planned(rows: Any, stored: StoredSchema | None = None) -> tuple[NestedLayout, dict[str, TablePlan]]:
    learned = profile_rows(encode(row) for row in rows)
    decision = decide(stored or Schema("shop").stored, "t", learned.evidence)
    dataset = build_layout(
        learned.forms, lambda path, form: is_kept_as_json(decision, path, form), strict_fractions(decision)
    )
    return dataset, {plan.table.name: plan for plan in plan_tables(decision, dataset)}


@pytest.mark.parametrize(
    ("table", "row"),
    [
        ("t", "STRUCT<`id`: BIGINT, `who`: STRUCT<`name`: STRING, `age`: BIGINT>>"),
        ("t__x", "STRUCT<`x`: ARRAY<STRUCT<`n`: BIGINT>>>"),
        ("t__x__y", "STRUCT<`x`: ARRAY<STRUCT<`y`: ARRAY<BIGINT>>>>"),
        ("t__t", "STRUCT<`t`: ARRAY<STRING>>"),
    ],
)
def test_a_table_reads_what_it_is_made_of(table: str, row: str) -> None:
    dataset, plans = planned(WIDE)

    assert pruned_columns(dataset, plans[table].projection).endswith(f"`row` {row}")


def test_elements_of_which_nothing_is_read_stay() -> None:
    dataset, plans = planned([{"x": [{"y": [1]}]}])

    assert pruned_columns(dataset, plans["t__x"].projection) == dataset.columns


@settings(max_examples=30)
@given(st.integers(0, 2_999))
def test_every_name_that_is_read_is_there(number: int) -> None:
    case = rowset(number)
    dataset, plans = planned(case.batches[0], Schema.from_dict(case.document).stored)

    for plan in plans.values():
        columns = pruned_columns(dataset, plan.projection)
        read = [value.at.path for one in plan.projection.columns for value in one.values]
        read += [at.path for level in plan.projection.levels for at, _ in level.lists]
        assert all(f"{quote_name(name)}: " in columns for path in read for name in path)
        assert len(columns) <= len(dataset.columns)
