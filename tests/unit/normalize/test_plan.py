from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st
from tests.oracle.row_sets import rowset

from penstock.extract.encode import encode
from penstock.normalize.plan import TablePlan, plan_layout, plan_tables, uncertain_values
from penstock.normalize.profile import profile_rows
from penstock.normalize.refusals import refused_rows
from penstock.package.projection.model import ColumnValue, FieldAccess
from penstock.schema import Decision, Schema, StoredSchema, Table, decide

if TYPE_CHECKING:
    from penstock.normalize.nested_layout import NestedLayout


def decided(*rows: Any, stored: StoredSchema | None = None) -> tuple[Decision, NestedLayout]:
    learned = profile_rows(encode(row) for row in rows)
    decision = decide(stored or Schema("shop").stored, "t", learned.evidence)
    return decision, plan_layout(decision, learned)


def planned(*rows: Any, stored: StoredSchema | None = None) -> dict[str, TablePlan]:
    return {plan.table.name: plan for plan in plan_tables(*decided(*rows, stored=stored))}


def values(plan: TablePlan, column: str) -> tuple[ColumnValue, ...]:
    return next(one.values for one in plan.projection.columns if one.name == column)


def test_the_first_value_decides_and_others_are_tried_for_its_column_first() -> None:
    plan = planned({"a": 1}, {"a": "7"}, {"a": "x"})["t"]

    at = FieldAccess(path=("a",))
    assert values(plan, "a") == (
        ColumnValue(at=at, stored="mixed", kind="bigint", to="bigint"),
        ColumnValue(at=at, stored="mixed", kind="text", to="bigint"),
    )
    assert values(plan, "a__v_text") == (
        ColumnValue(at=at, stored="mixed", kind="text", to="text", unless=("bigint",)),
    )


def test_a_scalar_and_an_object_with_its_key_share_a_column() -> None:
    plan = planned({"l": [1, {"value": 2}]})["t__l"]

    assert [value.at for value in values(plan, "value")] == [FieldAccess(), FieldAccess(inside=("value",))]


def test_a_list_in_a_list_and_a_list_under_its_key_share_a_table() -> None:
    plan = planned({"l": [[1], {"list": [2]}]})["t__l__list"]

    assert plan.projection.levels[-1].lists == (
        (FieldAccess(), "mixed"),
        (FieldAccess(inside=("list",)), "mixed"),
    )


def test_rows_that_the_contract_refuses_are_left_out_on_every_level() -> None:
    table = Table.from_dict(
        {
            "name": "t",
            "schema_contract": {"columns": "discard_row"},
            "columns": {"id": {"data_type": "bigint"}},
        }
    )
    stored = Schema("shop").stored.with_tables([table])

    plan = planned({"id": 1, "new": 2}, {"id": 1}, stored=stored)["t"]

    (refusal,) = plan.projection.levels[0].refused
    assert (refusal.at, refusal.kind) == (FieldAccess(path=("new",)), "bigint")


def test_merged_tables_give_their_id_to_all_rows_below() -> None:
    stored = Schema("shop").stored.with_tables([Table(name="t", write_disposition="merge")])

    plan = planned({"l": [{"m": [1]}]}, stored=stored)["t__l__m"]

    assert plan.projection.levels[0].passes_id == ("_dlt_root_id",)
    assert plan.projection.inherited == (("_dlt_root_id", "STRING"),)


def test_only_values_that_a_column_may_turn_down_are_doubtful() -> None:
    found = uncertain_values(*decided({"at": "2024-01-02T03:04:05Z", "name": "x", "n": 1}, {"n": 2.0}))

    assert {(one.access.path, one.kind, one.target_types) for one in found} == {
        (("at",), "text", ("timestamp",)),
        (("n",), "double", ("bigint",)),
    }


def test_a_decision_with_more_in_it_can_be_carried_out_on_an_earlier_dataset() -> None:
    _, early = decided({"a": 1, "l": [1]})
    later, _ = decided({"a": 1, "l": [1]}, {"a": {"b": 2}, "l": [{"x": 1}], "m": [1]})

    plans = {plan.table.name: plan for plan in plan_tables(later, early)}

    assert set(plans) == {"t", "t__l"}
    assert [one.name for one in plans["t"].projection.columns] == ["a"]


@given(st.integers(0, 2_999))
def test_every_column_that_is_decided_on_is_filled_from_somewhere(number: int) -> None:
    case = rowset(number)
    stored = Schema.from_dict(case.document).stored
    for batch in case.batches:
        decision, dataset = decided(*batch, stored=stored)
        stored = decision.schema
        plans = {plan.table.name: plan for plan in plan_tables(decision, dataset)}
        placed = {
            (rule.table, rule.column)
            for rule in decision.rules.values()
            if rule.action in ("keep", "convert", "json") and rule.column != "_dlt_id"
        }
        filled = {(name, column.name) for name, plan in plans.items() for column in plan.projection.columns}
        assert placed <= filled


def test_a_value_that_must_be_there_is_missed_by_its_text() -> None:
    columns = {"id": {"data_type": "bigint", "nullable": False}}
    stored = Schema("shop").stored.with_tables([Table.from_dict({"name": "t", "columns": columns})])
    decision, dataset = decided({"id": None}, {"id": 1}, {"x": 1}, stored=stored)

    (found,) = refused_rows(decision, dataset)

    assert found.condition == "(NOT (`row`.`id` IS NOT NULL) AND contains(text, '\"id\":null'))"
    assert (found.path, found.rule) == ('["id"]', "nullable: discard_row")
