from __future__ import annotations

from typing import Any

import pytest

from penstock.errors import UsageError
from penstock.schema import Contract, Schema, Table, effective_contract

TABLES = {
    "orders": Table(name="orders", extras={"schema_contract": {"columns": "freeze"}}),
    "orders__items": Table(name="orders__items", parent="orders"),
    "orders__items__tags": Table(
        name="orders__items__tags", parent="orders__items", extras={"schema_contract": "discard_row"}
    ),
    "plain": Table(name="plain"),
}


def test_a_single_mode_applies_to_every_entity_and_the_default_is_evolve() -> None:
    assert Contract.from_settings("freeze") == Contract(tables="freeze", columns="freeze", data_type="freeze")
    assert Contract.from_settings({"columns": "discard_row"}) == Contract(columns="discard_row")
    assert Contract.from_settings(None) == Contract.from_settings({}) == Contract()


@pytest.mark.parametrize("settings", ["melt", {"rows": "freeze"}, {"columns": "melt"}, 3, ["freeze"]])
def test_unknown_modes_and_entities_are_refused(settings: Any) -> None:
    with pytest.raises(UsageError):
        Contract.from_settings(settings)


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("orders", Contract(columns="freeze")),
        ("orders__items", Contract(columns="freeze")),
        ("orders__items__tags", Contract.from_settings("discard_row")),
        ("plain", Contract(tables="discard_value")),
        ("_dlt_loads", Contract()),
    ],
)
def test_the_nearest_contract_is_in_effect(table: str, expected: Contract) -> None:
    assert effective_contract(table, TABLES, schema_contract={"tables": "discard_value"}) == expected


def test_a_new_nested_table_inherits_the_contract_of_its_parent() -> None:
    assert effective_contract("orders__new", TABLES, parent="orders") == Contract(columns="freeze")
    assert effective_contract("new", TABLES, schema_contract="freeze") == Contract.from_settings("freeze")


def test_the_contract_of_the_run_takes_precedence_except_for_system_tables() -> None:
    assert effective_contract("orders", TABLES, run_contract="evolve") == Contract()
    assert effective_contract("_dlt_loads", TABLES, run_contract="freeze") == Contract()


def test_the_contract_of_a_schema_can_be_set_and_removed() -> None:
    schema = Schema("t")
    before = schema.version_hash

    schema.set_schema_contract({"columns": "freeze"})
    assert schema.settings["schema_contract"] == {"columns": "freeze"}
    schema.set_schema_contract(None)

    assert "schema_contract" not in schema.settings
    assert schema.version_hash == before
    with pytest.raises(UsageError):
        schema.set_schema_contract("melt")  # type: ignore[arg-type]
