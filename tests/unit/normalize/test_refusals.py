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
    profile = profile_rows(texts)
    decision = decide(first.schema, "t", profile.evidence, InferenceOptions(contract=contract))
    return decision, plan_layout(decision, profile)


def test_a_refused_root_row_names_the_refused_value() -> None:
    decision, layout = second_load('{"id":1,"new":"x"}', contract={"columns": "discard_row"})

    (refused,) = refused_rows(decision, layout)

    assert (refused.path, refused.rule, refused.reason) == (
        '["new"]',
        "columns: discard_row",
        "there is no column new",
    )
    assert refused.condition == "(`row`.`new` IS NOT NULL)"
    assert refused_nested_rows(decision, layout) == []
    ((refusal, counting),) = refusal_counts(decision, layout)
    assert refusal.column == "new"
    assert counting.startswith("count_if(raw.path = ")


def test_a_refused_nested_row_has_the_levels_down_to_its_list() -> None:
    decision, layout = second_load('{"l":[{"x":1,"new":2}]}', contract={"columns": "discard_row"})

    (refused,) = refused_nested_rows(decision, layout)

    assert (refused.table, len(refused.levels)) == ("t__l", 2)
    assert refused.raw == "to_json(CAST(row AS STRUCT<`x`: BIGINT, `new`: BIGINT>))"
    assert [rows.path for rows in refused.rows] == ['["l",0,"new"]']
    assert refused_rows(decision, layout) == []


def test_a_refused_table_has_the_json_of_its_list() -> None:
    decision, layout = second_load('{"id":1,"more":[{"x":1}]}', contract={"tables": "discard_row"})

    (refused,) = refused_nested_rows(decision, layout)

    assert (refused.table, len(refused.levels)) == ("t__more", 1)
    assert "`row`.`more`" in refused.raw
    assert [refusal.table for refusal, _ in refusal_counts(decision, layout)] == ["t__more"]


def test_a_row_without_a_value_at_any_path_of_a_key_column_is_keyless() -> None:
    _, layout = second_load('{"id":1,"deep":{"id":2}}', contract="evolve")

    with_paths, without_paths = keyless_rows({"id": [["id"], ["deep", "id"]], "no": [["no"]]}, layout)

    assert with_paths.condition == (
        "NOT (coalesce((`row`.`id` IS NOT NULL), false) OR coalesce((`row`.`deep`.`id` IS NOT NULL), false))"
    )
    assert without_paths.condition == "NOT (false)"
