"""Parts of root tables: row counts must agree, and lists are counted for nested tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from penstock.errors import InternalError
from penstock.normalize.nested_layout import NestedLayout, Object
from penstock.normalize.plan import plan_layout, plan_tables
from penstock.normalize.profile import profile_rows
from penstock.normalize.table_inputs import TableInput
from penstock.normalize.table_parts import WrittenDataset, check_row_count, list_sizes, nested_counts
from penstock.package.extract_manifest import ExtractedTable
from penstock.schema import Schema, decide
from penstock.schema.value_path import EACH

if TYPE_CHECKING:
    from penstock.schema import Decision


def check(rows_in: int, rows_out: int) -> None:
    table = ExtractedTable(
        table="orders",
        resource="orders",
        write_disposition="append",
        folder="data/a",
        rows=rows_in,
        bytes=1,
        files=1,
    )
    check_row_count(
        TableInput(table=table, folders=("data/a",), columns=None, rows=rows_in),
        WrittenDataset(folders=("data/b",), layout=NestedLayout(Object(fields={})), rows=rows_out),
    )


@pytest.mark.parametrize("rows_out", [9, 11, 0])
def test_a_difference_between_rows_in_and_rows_out_is_an_error(rows_out: int) -> None:
    with pytest.raises(InternalError, match=f"10 rows of orders went in and {rows_out} came out"):
        check(10, rows_out)


def test_equal_row_counts_pass() -> None:
    check(10, 10)


def decide_texts(*texts: str, **contract: Any) -> tuple[Decision, NestedLayout]:
    profile = profile_rows(texts)
    schema = Schema("shop")
    if contract:
        schema.set_schema_contract(contract)
    decision = decide(schema.stored, "t", profile.evidence)
    return decision, plan_layout(decision, profile)


def counts(decision: Decision, layout: NestedLayout, sizes: dict[Any, int]) -> dict[str, int | None]:
    return nested_counts(plan_tables(decision, layout), decision.tables, sizes)


def test_lists_of_the_root_row_are_counted_and_inner_lists_are_not() -> None:
    decision, layout = decide_texts('{"a":{"l":[{"m":[1]}]},"k":["x"]}')

    sizes = list_sizes(layout)

    assert sizes == {
        ("a", "l", EACH): "coalesce(array_size(row.`a`.`l`), 0)",
        ("k", EACH): "coalesce(array_size(row.`k`), 0)",
    }
    rows = counts(decision, layout, {("a", "l", EACH): 5, ("k", EACH): 7})
    assert rows == {"t__a__l": 5, "t__a__l__m": None, "t__k": 7}


def test_lists_beside_other_values_are_not_counted() -> None:
    decision, layout = decide_texts('{"l":[1]}', '{"l":"text"}')

    assert list_sizes(layout) == {}
    assert counts(decision, layout, {}) == {"t__l": None}


def test_very_many_lists_are_not_counted() -> None:
    keys = ",".join(f'"l{number}":[1]' for number in range(300))

    assert list_sizes(decide_texts(f"{{{keys}}}")[1]) == {}
