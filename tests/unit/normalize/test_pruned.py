"""A job file names the columns that its table needs, and no others."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracle.rowsets import rowset

from penstock.extract.encode import encode
from penstock.normalize.learn import learn
from penstock.normalize.plan import TablePlan, keeps_whole, plan_tables, strict_fractions
from penstock.normalize.pruned import columns_for
from penstock.normalize.stored import Dataset, dataset_of
from penstock.package.sql import quoted
from penstock.schema import Schema, StoredSchema, decide

WIDE = [{"id": 1, "who": {"name": "a", "age": 2}, "x": [{"n": 1, "y": [1], "z": [2]}], "t": ["a"]}]


def planned(rows: Any, stored: StoredSchema | None = None) -> tuple[Dataset, dict[str, TablePlan]]:
    learned = learn(encode(row) for row in rows)
    decision = decide(stored or Schema("shop").stored, "t", learned.evidence)
    dataset = dataset_of(
        learned.forms, lambda path, form: keeps_whole(decision, path, form), strict_fractions(decision)
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

    assert columns_for(dataset, plans[table].projection).endswith(f"`row` {row}")


def test_elements_of_which_nothing_is_read_stay() -> None:
    dataset, plans = planned([{"x": [{"y": [1]}]}])

    assert columns_for(dataset, plans["t__x"].projection) == dataset.columns


@settings(max_examples=30)
@given(st.integers(0, 2_999))
def test_every_name_that_is_read_is_there(number: int) -> None:
    case = rowset(number)
    dataset, plans = planned(case.batches[0], Schema.from_dict(case.document).stored)

    for plan in plans.values():
        columns = columns_for(dataset, plan.projection)
        read = [value.at.path for one in plan.projection.columns for value in one.values]
        read += [at.path for level in plan.projection.levels for at, _ in level.lists]
        assert all(f"{quoted(name)}: " in columns for path in read for name in path)
        assert len(columns) <= len(dataset.columns)
