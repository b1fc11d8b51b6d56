from __future__ import annotations

from typing import Any

import pytest

from penstock.errors import DataValidationError
from penstock.schema import EACH, Decision, InferenceOptions, Schema, StoredSchema, decide, gather

LOADED = decide(Schema("shop").stored, "t", gather([{"a": 5, "l": [{"p": 5}]}])).schema


def decide_with_contract(rows: list[Any], contract: Any, stored: StoredSchema = LOADED) -> Decision:
    return decide(stored, "t", gather(rows), InferenceOptions(contract=contract))


def refusal_facts(decision: Decision) -> list[tuple[str, str | None, str, str, int]]:
    return [(r.table, r.column, r.entity, r.mode, r.count) for r in decision.refusals]


REFUSING = ("freeze", "discard_row", "discard_value")


@pytest.mark.parametrize("mode", REFUSING)
def test_a_new_column_is_refused_with_its_count(mode: str) -> None:
    decision = decide_with_contract([{"a": 1, "new": "x"}, {"a": 2, "new": "y"}, {"a": 3}], {"columns": mode})

    assert refusal_facts(decision) == [("t", "new", "columns", mode, 2)]
    assert decision.rule(("new",), "text").action == mode
    assert decision.schema is LOADED
    assert decision.refusals[0].examples == ("x", "y")


@pytest.mark.parametrize("mode", REFUSING)
def test_a_value_that_does_not_fit_is_refused_and_others_are_not(mode: str) -> None:
    decision = decide_with_contract([{"a": "word"}, {"a": "7"}, {"a": 8}], {"data_type": mode})

    assert refusal_facts(decision) == [("t", "a__v_text", "data_type", mode, 1)]
    rule = decision.rule(("a",), "text")
    assert (rule.action, rule.column) == ("convert", "a")
    assert rule.otherwise is not None
    assert rule.otherwise.action == mode


@pytest.mark.parametrize("mode", REFUSING)
def test_a_new_nested_table_is_refused_and_the_parent_row_is_kept(mode: str) -> None:
    decision = decide_with_contract([{"a": 1, "m": [{"q": 1}, {"q": [2]}]}], {"tables": mode})

    assert refusal_facts(decision) == [("t__m", None, "tables", mode, 2)]
    assert decision.rule(("m",), "list").action == ("freeze" if mode == "freeze" else "discard_value")
    assert ("m", EACH) not in decision.tables
    assert ("m", EACH, "q", EACH) not in decision.tables


@pytest.mark.parametrize("mode", REFUSING)
def test_a_new_root_table_is_refused_with_all_its_rows(mode: str) -> None:
    decision = decide_with_contract([{"a": 1}, {"a": 2}], {"tables": mode}, Schema("shop").stored)

    assert refusal_facts(decision) == [("t", None, "tables", mode, 2)]
    assert decision.tables == {}


def test_every_row_of_the_first_run_may_add_columns() -> None:
    rows = [{"a": 1}, {"a": 2, "b": 3, "l": [{"p": 1}, {"q": 2}]}]

    decision = decide_with_contract(rows, {"columns": "freeze"}, Schema("shop").stored)

    assert decision.refusals == ()
    assert set(decision.schema.tables["t__l"].columns) >= {"p", "q"}


def test_a_table_marked_to_evolve_once_adds_columns() -> None:
    once = LOADED.with_tables(
        [LOADED.tables["t"].with_extras(**{"x-normalizer": {"evolve-columns-once": True}})]
    )

    assert decide_with_contract([{"new": 1}], {"columns": "freeze"}, once).refusals == ()


def test_check_raises_for_the_first_refusal_in_the_order_of_rows() -> None:
    decision = decide_with_contract([{"l": [{"p": "word"}]}, {"new": 1}], "freeze")

    with pytest.raises(DataValidationError) as raised:
        decision.check()
    assert vars(raised.value)["table_name"] == "t__l"
    assert vars(raised.value)["schema_entity"] == "data_type"
    assert decide_with_contract([{"a": 2}], "freeze").check().refusals == ()


def test_nested_tables_inherit_the_contract_of_their_root() -> None:
    bound = LOADED.with_tables([LOADED.tables["t"].with_extras(schema_contract={"columns": "discard_value"})])

    decision = decide_with_contract([{"l": [{"new": 1}]}], None, bound)

    assert refusal_facts(decision) == [("t__l", "new", "columns", "discard_value", 1)]


def test_a_frozen_type_does_not_widen() -> None:
    options = InferenceOptions(
        contract={"data_type": "freeze"}, type_evolution="widen", can_alter=frozenset({("bigint", "double")})
    )

    decision = decide(LOADED, "t", gather([{"a": 1.5}]), options)

    assert refusal_facts(decision) == [("t", "a__v_double", "data_type", "freeze", 1)]
