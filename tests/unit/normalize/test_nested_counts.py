from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.normalize.nested_counts import list_sizes, nested_counts
from penstock.normalize.plan import plan_layout, plan_tables
from penstock.normalize.profile import profile_rows
from penstock.schema import Decision, Schema, decide
from penstock.schema.value_path import EACH

if TYPE_CHECKING:
    from penstock.normalize.nested_layout import NestedLayout


def shaped(*texts: str, **contract: Any) -> tuple[Decision, NestedLayout]:
    learned = profile_rows(texts)
    schema = Schema("shop")
    if contract:
        schema.set_schema_contract(contract)
    decision = decide(schema.stored, "t", learned.evidence)
    return decision, plan_layout(decision, learned)


def counts(decision: Decision, dataset: NestedLayout, sizes: dict[Any, int]) -> dict[str, int | None]:
    return nested_counts(plan_tables(decision, dataset), decision.tables, sizes)


def test_lists_of_the_root_row_are_counted_and_those_inside_others_are_not() -> None:
    decision, dataset = shaped('{"a":{"l":[{"m":[1]}]},"k":["x"]}')

    sizes = list_sizes(dataset)

    assert sizes == {
        ("a", "l", EACH): "coalesce(array_size(row.`a`.`l`), 0)",
        ("k", EACH): "coalesce(array_size(row.`k`), 0)",
    }
    found = counts(decision, dataset, {("a", "l", EACH): 5, ("k", EACH): 7})
    assert found == {"t__a__l": 5, "t__a__l__m": None, "t__k": 7}


def test_lists_among_other_values_are_not_told() -> None:
    decision, dataset = shaped('{"l":[1]}', '{"l":"text"}')

    assert list_sizes(dataset) == {}
    assert counts(decision, dataset, {}) == {"t__l": None}


def test_very_many_lists_are_left_to_the_load() -> None:
    keys = ",".join(f'"l{number}":[1]' for number in range(300))

    assert list_sizes(shaped(f"{{{keys}}}")[1]) == {}
