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


def decide_rows(*rows: Any, stored: StoredSchema | None = None) -> tuple[Decision, NestedLayout]:
    profile = profile_rows(encode(row) for row in rows)
    decision = decide(stored or Schema("shop").stored, "t", profile.evidence)
    return decision, plan_layout(decision, profile)


def plans_of(*rows: Any, stored: StoredSchema | None = None) -> dict[str, TablePlan]:
    return {plan.table.name: plan for plan in plan_tables(*decide_rows(*rows, stored=stored))}


def values(plan: TablePlan, column: str) -> tuple[ColumnValue, ...]:
    return next(output.values for output in plan.projection.columns if output.name == column)


def test_the_first_value_decides_the_type_and_others_are_converted_to_it_if_possible() -> None:
    plan = plans_of({"a": 1}, {"a": "7"}, {"a": "x"})["t"]

    at = FieldAccess(path=("a",))
    assert values(plan, "a") == (
        ColumnValue(at=at, stored="mixed", kind="bigint", to="bigint"),
        ColumnValue(at=at, stored="mixed", kind="text", to="bigint"),
    )
    assert values(plan, "a__v_text") == (
        ColumnValue(at=at, stored="mixed", kind="text", to="text", unless=("bigint",)),
    )


def test_a_scalar_and_an_object_with_its_key_share_a_column() -> None:
    plan = plans_of({"l": [1, {"value": 2}]})["t__l"]

    assert [value.at for value in values(plan, "value")] == [FieldAccess(), FieldAccess(inside=("value",))]


def test_a_list_in_a_list_and_a_list_under_its_key_share_a_table() -> None:
    plan = plans_of({"l": [[1], {"list": [2]}]})["t__l__list"]

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

    plan = plans_of({"id": 1, "new": 2}, {"id": 1}, stored=stored)["t"]

    (refusal,) = plan.projection.levels[0].refused
    assert (refusal.at, refusal.kind) == (FieldAccess(path=("new",)), "bigint")


def test_merged_tables_propagate_their_id_to_all_nested_rows() -> None:
    stored = Schema("shop").stored.with_tables([Table(name="t", write_disposition="merge")])

    plan = plans_of({"l": [{"m": [1]}]}, stored=stored)["t__l__m"]

    assert plan.projection.levels[0].passes_id == ("_dlt_root_id",)
    assert plan.projection.inherited == (("_dlt_root_id", "STRING"),)


def test_only_values_that_a_column_may_refuse_are_uncertain() -> None:
    uncertain = uncertain_values(
        *decide_rows({"at": "2024-01-02T03:04:05Z", "name": "x", "n": 1}, {"n": 2.0})
    )

    assert {(value.access.path, value.kind, value.target_types) for value in uncertain} == {
        (("at",), "text", ("timestamp",)),
        (("n",), "double", ("bigint",)),
    }


def test_a_later_decision_applies_to_an_earlier_layout() -> None:
    _, early = decide_rows({"a": 1, "l": [1]})
    later, _ = decide_rows({"a": 1, "l": [1]}, {"a": {"b": 2}, "l": [{"x": 1}], "m": [1]})

    plans = {plan.table.name: plan for plan in plan_tables(later, early)}

    assert set(plans) == {"t", "t__l"}
    assert [column.name for column in plans["t"].projection.columns] == ["a"]


@given(st.integers(0, 2_999))
def test_every_decided_column_has_a_value_in_a_projection(number: int) -> None:
    case = rowset(number)
    stored = Schema.from_dict(case.document).stored
    for batch in case.batches:
        decision, layout = decide_rows(*batch, stored=stored)
        stored = decision.schema
        plans = {plan.table.name: plan for plan in plan_tables(decision, layout)}
        decided = {
            (rule.table, rule.column)
            for rule in decision.rules.values()
            if rule.action in ("keep", "convert", "json") and rule.column != "_dlt_id"
        }
        filled = {(name, column.name) for name, plan in plans.items() for column in plan.projection.columns}
        assert decided <= filled


def test_an_explicit_null_in_a_required_column_is_found_in_the_text() -> None:
    columns = {"id": {"data_type": "bigint", "nullable": False}}
    stored = Schema("shop").stored.with_tables([Table.from_dict({"name": "t", "columns": columns})])
    decision, layout = decide_rows({"id": None}, {"id": 1}, {"x": 1}, stored=stored)

    (refused,) = refused_rows(decision, layout)

    assert refused.condition == "(NOT (`row`.`id` IS NOT NULL) AND contains(text, '\"id\":null'))"
    assert (refused.path, refused.rule) == ('["id"]', "nullable: discard_row")
