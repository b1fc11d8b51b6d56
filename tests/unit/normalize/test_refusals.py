from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.normalize.plan import plan_layout
from penstock.normalize.profile import profile_rows
from penstock.normalize.refusals import keyless_rows, refusal_counts, refused_nested_rows, refused_rows
from penstock.schema import Decision, Schema, decide
from penstock.schema.inference_options import InferenceOptions

if TYPE_CHECKING:
    from penstock.normalize.nested_layout import NestedLayout


def second_load(*texts: str, contract: Any) -> tuple[Decision, NestedLayout]:
    first = decide(Schema("shop").stored, "t", profile_rows(['{"id":1,"l":[{"x":1}]}']).evidence)
    learned = profile_rows(texts)
    decision = decide(first.schema, "t", learned.evidence, InferenceOptions(contract=contract))
    return decision, plan_layout(decision, learned)


def test_a_refused_root_row_says_which_value_is_to_blame() -> None:
    decision, dataset = second_load('{"id":1,"new":"x"}', contract={"columns": "discard_row"})

    (found,) = refused_rows(decision, dataset)

    assert (found.path, found.rule, found.reason) == (
        '["new"]',
        "columns: discard_row",
        "there is no column new",
    )
    assert found.condition == "(`row`.`new` IS NOT NULL)"
    assert refused_nested_rows(decision, dataset) == []
    ((refusal, counting),) = refusal_counts(decision, dataset)
    assert refusal.column == "new"
    assert counting.startswith("count_if(raw.path = ")


def test_a_refused_nested_row_is_reached_through_its_list() -> None:
    decision, dataset = second_load('{"l":[{"x":1,"new":2}]}', contract={"columns": "discard_row"})

    (found,) = refused_nested_rows(decision, dataset)

    assert (found.table, len(found.levels)) == ("t__l", 2)
    assert found.raw == "to_json(CAST(row AS STRUCT<`x`: BIGINT, `new`: BIGINT>))"
    assert [one.path for one in found.rows] == ['["l",0,"new"]']
    assert refused_rows(decision, dataset) == []


def test_a_refused_table_leaves_its_list() -> None:
    decision, dataset = second_load('{"id":1,"more":[{"x":1}]}', contract={"tables": "discard_row"})

    (found,) = refused_nested_rows(decision, dataset)

    assert (found.table, len(found.levels)) == ("t__more", 1)
    assert "`row`.`more`" in found.raw
    assert [refusal.table for refusal, _ in refusal_counts(decision, dataset)] == ["t__more"]


def test_rows_lack_a_key_where_none_of_its_paths_has_a_value() -> None:
    _, dataset = second_load('{"id":1,"deep":{"id":2}}', contract="evolve")

    one, other = keyless_rows({"id": [["id"], ["deep", "id"]], "no": [["no"]]}, dataset)

    assert one.condition == (
        "NOT (coalesce((`row`.`id` IS NOT NULL), false) OR coalesce((`row`.`deep`.`id` IS NOT NULL), false))"
    )
    assert other.condition == "NOT (false)"
