from __future__ import annotations

from typing import Any

from penstock.normalize.learn import learn
from penstock.normalize.plan import keeps_whole
from penstock.normalize.refusals import counts_of, keyless_rows, refused_nested, refused_rows
from penstock.normalize.stored import Dataset, dataset_of
from penstock.schema import Decision, Schema, decide
from penstock.schema.terms import Terms


def second_load(*texts: str, contract: Any) -> tuple[Decision, Dataset]:
    first = decide(Schema("shop").stored, "t", learn(['{"id":1,"l":[{"x":1}]}']).evidence)
    learned = learn(texts)
    decision = decide(first.schema, "t", learned.evidence, Terms(contract=contract))
    return decision, dataset_of(learned.forms, lambda path, form: keeps_whole(decision, path, form))


def test_a_refused_root_row_says_which_value_is_to_blame() -> None:
    decision, dataset = second_load('{"id":1,"new":"x"}', contract={"columns": "discard_row"})

    (found,) = refused_rows(decision, dataset)

    assert (found.path, found.rule, found.reason) == (
        '["new"]',
        "columns: discard_row",
        "there is no column new",
    )
    assert found.condition == "(`row`.`new` IS NOT NULL)"
    assert refused_nested(decision, dataset) == []
    ((refusal, counting),) = counts_of(decision, dataset)
    assert refusal.column == "new"
    assert counting.startswith("count_if(raw.path = ")


def test_a_refused_nested_row_is_reached_through_its_list() -> None:
    decision, dataset = second_load('{"l":[{"x":1,"new":2}]}', contract={"columns": "discard_row"})

    (found,) = refused_nested(decision, dataset)

    assert (found.table, len(found.levels)) == ("t__l", 2)
    assert found.raw == "to_json(CAST(row AS STRUCT<`x`: BIGINT, `new`: BIGINT>))"
    assert [one.path for one in found.rows] == ['["l",0,"new"]']
    assert refused_rows(decision, dataset) == []


def test_a_refused_table_leaves_its_list() -> None:
    decision, dataset = second_load('{"id":1,"more":[{"x":1}]}', contract={"tables": "discard_row"})

    (found,) = refused_nested(decision, dataset)

    assert (found.table, len(found.levels)) == ("t__more", 1)
    assert "`row`.`more`" in found.raw
    assert [refusal.table for refusal, _ in counts_of(decision, dataset)] == ["t__more"]


def test_rows_lack_a_key_where_none_of_its_paths_has_a_value() -> None:
    _, dataset = second_load('{"id":1,"deep":{"id":2}}', contract="evolve")

    one, other = keyless_rows({"id": [["id"], ["deep", "id"]], "no": [["no"]]}, dataset)

    assert one.condition == (
        "NOT (coalesce((`row`.`id` IS NOT NULL), false) OR coalesce((`row`.`deep`.`id` IS NOT NULL), false))"
    )
    assert other.condition == "NOT (false)"
