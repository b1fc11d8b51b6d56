"""Origins of columns: each column that a decision adds or changes has one, with its rule and path."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.schema import EACH, InferenceOptions, Schema, StoredSchema, Table, decide, gather
from penstock.schema.origin import ColumnOrigin, hint_origins, json_path

KEYS = st.sampled_from(["a", "A", "b", "someKey", "some_key"])
VALUES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3)
ROWS = st.lists(
    st.dictionaries(
        KEYS,
        st.recursive(
            VALUES, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=2)
        ),
        max_size=3,
    ),
    max_size=4,
)


def schema_with(**settings: Any) -> StoredSchema:
    return StoredSchema.from_dict({**Schema("shop").to_dict(), "settings": settings})


def origins_of(
    rows: list[Any], schema: StoredSchema | None = None, **options: Any
) -> dict[str, ColumnOrigin]:
    decision = decide(schema or Schema("shop").stored, "orders", gather(rows), InferenceOptions(**options))
    return {f"{origin.table}.{origin.column}": origin for origin in decision.origins}


@given(ROWS, ROWS)
def test_every_new_or_retyped_column_has_one_origin(first: list[Any], second: list[Any]) -> None:
    before = decide(Schema("shop").stored, "orders", gather(first)).schema

    decision = decide(before, "orders", gather(second), InferenceOptions(type_evolution="widen"))

    old = {
        (table.name, column.name) for table in before.tables.values() for column in table.complete_columns()
    }
    added = [
        (table.name, column.name)
        for table in decision.update.values()
        for column in table.complete_columns()
        if not column.name.startswith("_dlt") and (table.name, column.name) not in old
    ]
    recorded = [(origin.table, origin.column) for origin in decision.origins]
    assert sorted(name for name in recorded if name not in old) == sorted(added)
    assert len(set(recorded)) == len(recorded)


def test_an_origin_has_the_path_and_the_place_of_a_value() -> None:
    origins = origins_of([{"id": 1}, {"id": 2, "items": [{"sku": "a"}, {"unit price": 2.5}]}])

    assert origins["orders__items.unit_price"] == ColumnOrigin(
        table="orders__items",
        column="unit_price",
        rule="inference",
        permitted_by="tables",
        path=("items", EACH, "unit price"),
        value_type="double",
        position=(1, 1),
    )


def test_the_rule_of_a_column_is_the_one_that_chose_its_type() -> None:
    schema = schema_with(detections=["iso_timestamp"], preferred_types={"re:^day": "date"})
    rows = [{"at": "2026-05-04T09:12:00Z", "day": "2026-05-04", "n": 1}, {"n": 1.5}, {"n": "many"}]

    rules = {name: origin.rule for name, origin in origins_of(rows, schema).items()}
    widened = origins_of([{"n": 1}, {"n": 1.5}], type_evolution="widen")

    assert rules == {
        "orders.at": "detection",
        "orders.day": "preferred_type",
        "orders.n": "inference",
        "orders.n__v_double": "variant",
        "orders.n__v_text": "variant",
    }
    assert (widened["orders.n"].rule, widened["orders.n"].position) == ("widening", (1,))


@pytest.mark.parametrize(
    ("options", "permitted_by"),
    [
        ({}, {"columns", "data_type"}),
        ({"type_evolution": "widen", "can_alter": {("bigint", "double")}}, None),
    ],
)
def test_the_contract_that_permitted_a_column_is_recorded(
    options: dict[str, Any], permitted_by: set[str] | None
) -> None:
    before = decide(Schema("shop").stored, "orders", gather([{"n": 1}])).schema

    origins = origins_of([{"n": 1.5, "new": 1}], before, **options)

    assert origins["orders.new"].permitted_by == "columns"
    retyped = origins["orders.n__v_double" if permitted_by else "orders.n"]
    assert (retyped.rule, retyped.permitted_by) == ("variant" if permitted_by else "widening", "data_type")


def test_refused_columns_have_no_origin() -> None:
    before = decide(Schema("shop").stored, "orders", gather([{"n": 1}])).schema

    assert (
        origins_of(
            [{"n": "x", "new": 1}],
            before,
            contract={"columns": "discard_value", "data_type": "discard_value"},
        )
        == {}
    )


def test_declared_columns_have_the_hint_as_origin() -> None:
    schema = Schema("shop")
    before = schema.stored
    schema.update_table(
        Table.from_dict(
            {"name": "t", "columns": {"id": {"data_type": "bigint"}, "no_type": {"nullable": True}}}
        )
    )

    assert list(hint_origins(before, schema.stored)) == [ColumnOrigin(table="t", column="id", rule="hint")]
    assert list(hint_origins(schema.stored, schema.stored)) == []


@given(ROWS)
def test_an_origin_reads_back_from_json(rows: list[Any]) -> None:
    for origin in decide(Schema("shop").stored, "orders", gather(rows)).origins:
        assert ColumnOrigin.from_dict(json.loads(json.dumps(asdict(origin)))) == origin


def test_an_unknown_rule_is_damage() -> None:
    with pytest.raises(TypeError, match="guess"):
        ColumnOrigin.from_dict({"table": "t", "column": "c", "rule": "guess"})


def test_a_path_is_quoted_where_its_keys_are_no_names() -> None:
    assert json_path(("it's", EACH, EACH, "a")) == r"$['it\'s'][*][*].a"
    assert json_path(("a", EACH, EACH), (3,)) == "$.a[3][*]"
