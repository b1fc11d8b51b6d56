from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.normalize.nested_counts import list_sizes, nested_counts
from penstock.normalize.plan import plan_layout, plan_tables
from penstock.normalize.profile import profile_rows
from penstock.schema import Decision, Schema, decide
from penstock.schema.value_path import EACH

if TYPE_CHECKING:
    from penstock.normalize.nested_layout import NestedLayout


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
