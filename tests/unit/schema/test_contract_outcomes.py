from __future__ import annotations

from typing import Any

import pytest

from penstock.errors import DataValidationError
from penstock.schema import EACH, Decision, InferenceOptions, Schema, StoredSchema, decide, gather

LOADED = decide(Schema("shop").stored, "t", gather([{"a": 5, "l": [{"p": 5}]}])).schema


def outcome(rows: list[Any], contract: Any, stored: StoredSchema = LOADED) -> Decision:
    return decide(stored, "t", gather(rows), InferenceOptions(contract=contract))


def refused(decision: Decision) -> list[tuple[str, str | None, str, str, int]]:
    return [(r.table, r.column, r.entity, r.mode, r.count) for r in decision.refusals]


REFUSING = ("freeze", "discard_row", "discard_value")


@pytest.mark.parametrize("mode", REFUSING)
def test_a_new_column_is_refused_with_its_count(mode: str) -> None:
    decision = outcome([{"a": 1, "new": "x"}, {"a": 2, "new": "y"}, {"a": 3}], {"columns": mode})

    assert refused(decision) == [("t", "new", "columns", mode, 2)]
    assert decision.rule(("new",), "text").action == mode
    assert decision.schema is LOADED
    assert decision.refusals[0].examples == ("x", "y")


@pytest.mark.parametrize("mode", REFUSING)
def test_a_value_that_does_not_fit_is_refused_and_others_are_not(mode: str) -> None:
    decision = outcome([{"a": "word"}, {"a": "7"}, {"a": 8}], {"data_type": mode})

    assert refused(decision) == [("t", "a__v_text", "data_type", mode, 1)]
    rule = decision.rule(("a",), "text")
    assert (rule.action, rule.column) == ("convert", "a")
    assert rule.otherwise is not None
    assert rule.otherwise.action == mode


@pytest.mark.parametrize("mode", REFUSING)
def test_a_new_nested_table_is_refused_and_the_row_above_stays(mode: str) -> None:
    decision = outcome([{"a": 1, "m": [{"q": 1}, {"q": [2]}]}], {"tables": mode})

    assert refused(decision) == [("t__m", None, "tables", mode, 2)]
    assert decision.rule(("m",), "list").action == ("freeze" if mode == "freeze" else "discard_value")
    assert ("m", EACH) not in decision.tables
    assert ("m", EACH, "q", EACH) not in decision.tables


@pytest.mark.parametrize("mode", REFUSING)
def test_a_new_root_table_is_refused_with_all_its_rows(mode: str) -> None:
    decision = outcome([{"a": 1}, {"a": 2}], {"tables": mode}, Schema("shop").stored)

    assert refused(decision) == [("t", None, "tables", mode, 2)]
    assert decision.tables == {}


def test_a_table_in_its_first_run_may_take_columns_in_every_row() -> None:
    rows = [{"a": 1}, {"a": 2, "b": 3, "l": [{"p": 1}, {"q": 2}]}]

    decision = outcome(rows, {"columns": "freeze"}, Schema("shop").stored)

    assert decision.refusals == ()
    assert set(decision.schema.tables["t__l"].columns) >= {"p", "q"}


def test_a_table_that_may_evolve_once_does() -> None:
    once = LOADED.with_tables(
        [LOADED.tables["t"].with_extras(**{"x-normalizer": {"evolve-columns-once": True}})]
    )

    assert outcome([{"new": 1}], {"columns": "freeze"}, once).refusals == ()


def test_frozen_things_raise_by_the_order_of_rows() -> None:
    decision = outcome([{"l": [{"p": "word"}]}, {"new": 1}], "freeze")

    with pytest.raises(DataValidationError) as raised:
        decision.check()
    assert vars(raised.value)["table_name"] == "t__l"
    assert vars(raised.value)["schema_entity"] == "data_type"
    assert outcome([{"a": 2}], "freeze").check().refusals == ()


def test_the_contract_of_a_table_holds_for_those_below_it() -> None:
    bound = LOADED.with_tables([LOADED.tables["t"].with_extras(schema_contract={"columns": "discard_value"})])

    decision = outcome([{"l": [{"new": 1}]}], None, bound)

    assert refused(decision) == [("t__l", "new", "columns", "discard_value", 1)]


def test_a_frozen_type_does_not_widen() -> None:
    terms = InferenceOptions(
        contract={"data_type": "freeze"}, type_evolution="widen", can_alter=frozenset({("bigint", "double")})
    )

    decision = decide(LOADED, "t", gather([{"a": 1.5}]), terms)

    assert refused(decision) == [("t", "a__v_double", "data_type", "freeze", 1)]
