from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from penstock.schema import (
    EACH,
    Column,
    Decision,
    InferenceOptions,
    Schema,
    StoredSchema,
    Table,
    decide,
    gather,
    naming_convention,
)

EMPTY = Schema("shop").stored


def decide_rows(rows: list[Any], stored: StoredSchema = EMPTY, **options: Any) -> Decision:
    return decide(stored, "t", gather(rows), InferenceOptions(**options))


def types(decision: Decision, table: str = "t") -> dict[str, str | None]:
    columns = decision.schema.tables[table].columns
    return {name: column.data_type for name, column in columns.items() if not name.startswith("_dlt")}


def tables(decision: Decision) -> list[str]:
    return [name for name in decision.schema.tables if not name.startswith("_dlt")]


def with_column(name: str, **facts: Any) -> StoredSchema:
    schema = Schema("shop")
    schema.update_table(Table.from_dict({"name": "t", "columns": {name: facts}}))
    return schema.stored


def test_a_fraction_after_an_integer_gets_a_variant_column() -> None:
    decision = decide_rows([{"x": 1}, {"x": 3.7}])

    assert types(decision) == {"x": "bigint", "x__v_double": "double"}
    assert decision.schema.tables["t"].columns["x__v_double"].has("variant")


def test_the_first_position_decides_the_type_in_any_order_of_evidence() -> None:
    early, late = gather([{"x": "word"}], start=3), gather([{"x": 7}], start=10)

    assert types(decide(EMPTY, "t", (*late, *early))) == {"x": "text"}
    assert types(decide(EMPTY, "t", gather([{"x": 7}, {"x": "word"}]))) == {
        "x": "bigint",
        "x__v_text": "text",
    }


def test_nulls_in_a_list_are_rows_without_a_value() -> None:
    decision = decide_rows([{"l": [None, 1]}])

    assert types(decision, "t__l") == {"value": "bigint"}
    assert decision.rule(("l", EACH), "null").action == "nothing"
    assert decision.tables == {(): "t", ("l", EACH): "t__l"}


def test_a_column_with_only_nulls_is_reported_and_not_created() -> None:
    decision = decide_rows([{"id": 1, "gone": None}])

    assert types(decision) == {"id": "bigint"}
    assert decision.never_typed == {"t": ("gone",)}


def test_objects_are_flattened_and_lists_become_tables() -> None:
    decision = decide_rows([{"a": {"b": {"c": 1}}, "l": [{"m": [[2]]}]}])

    assert tables(decision) == ["t", "t__l", "t__l__m", "t__l__m__list"]
    assert types(decision) == {"a__b__c": "bigint"}
    assert decision.schema.tables["t__l__m__list"].parent == "t__l__m"


@pytest.mark.parametrize(
    ("nesting", "expected"),
    [
        (0, {"t": {"d": "json", "l": "json"}}),
        (1, {"t": {"d__e": "json"}, "t__l": {"m": "json"}}),
        (2, {"t": {"d__e__f": "bigint"}, "t__l": {}, "t__l__m": {"value": "bigint"}}),
    ],
)
def test_values_below_the_maximum_nesting_are_kept_as_json(nesting: int, expected: dict[str, Any]) -> None:
    json = {**EMPTY.normalizers["json"], "config": {"max_nesting": nesting}}
    decision = decide_rows([{"d": {"e": {"f": 1}}, "l": [{"m": [1]}]}], EMPTY.with_normalizers(json=json))

    assert {name: types(decision, name) for name in tables(decision)} == expected


def test_objects_in_a_json_column_are_kept_as_json() -> None:
    decision = decide_rows([{"meta": {"a": 1}}], with_column("meta", data_type="json"))

    assert types(decision) == {"meta": "json"}
    assert decision.rule(("meta",), "object").action == "json"


def test_an_object_with_too_many_keys_is_json_unless_it_has_columns_already() -> None:
    rows = [{"m": {f"k{number}": number for number in range(20)}, "x": 1}]

    assert types(decide_rows(rows, max_columns=10)) == {"x": "bigint", "m": "json"}
    begun = decide_rows([{"m": {"k1": 1}}]).schema
    assert len(types(decide_rows(rows, begun, max_columns=10))) == 21


def test_preferred_types_apply_to_columns_and_not_to_variants() -> None:
    stored = EMPTY.with_settings(preferred_types={"re:_at$": "timestamp"})

    assert types(decide_rows([{"made_at": 1_700_000_000}], stored)) == {"made_at": "timestamp"}
    assert types(decide_rows([{"made_at": "never"}], stored)) == {"made_at__v_text": "text"}


def test_detectors_apply_in_their_order() -> None:
    both = EMPTY.with_settings(detections=["iso_timestamp", "iso_date"])
    row = [{"day": "2024-01-02", "at": "2024-01-02T03:04Z"}]

    assert types(decide_rows(row)) == {"day": "text", "at": "timestamp"}
    assert types(decide_rows(row, both)) == {"day": "date", "at": "timestamp"}
    assert types(decide_rows(row, EMPTY.with_settings(detections=[]))) == {"day": "text", "at": "text"}


def test_the_type_of_a_variant_fits_all_its_values() -> None:
    decision = decide_rows([{"x": 1}, {"x": "2024-01-02T03:04Z"}, {"x": "word"}])
    assert types(decision) == {"x": "bigint", "x__v_text": "text"}

    typed = decide_rows([{"x": 1}, {"x": "2024-01-02T03:04Z"}])
    assert types(typed) == {"x": "bigint", "x__v_text": "timestamp"}
    assert types(decide_rows([{"x": "word"}], typed.schema))["x__v_text__v_text"] == "text"


def test_a_declared_column_gets_its_type_from_data_and_keeps_its_hints() -> None:
    decision = decide_rows([{"id": 5}], with_column("id", primary_key=True, nullable=False))

    column = decision.schema.tables["t"].columns["id"]
    assert (column.data_type, column.nullable, column.has("primary_key")) == ("bigint", False, True)


def test_a_null_in_a_required_column_is_refused_and_counted() -> None:
    decision = decide_rows(
        [{"id": None}, {"id": 3}, {"id": None}], with_column("id", data_type="bigint", nullable=False)
    )

    (refusal,) = decision.refusals
    assert (refusal.entity, refusal.mode, refusal.count) == ("nullable", "discard_row", 2)
    assert decision.rule(("id",), "null").action == "discard_row"


def test_values_of_one_type_in_several_columns_have_one_chain_of_rules() -> None:
    decision = decide_rows([{"x": 1}, {"x": "7"}, {"x": "word"}])

    rule = decision.rule(("x",), "text")
    assert (rule.action, rule.column) == ("convert", "x")
    assert rule.otherwise is not None
    assert (rule.otherwise.action, rule.otherwise.column) == ("keep", "x__v_text")


def test_colliding_keys_keep_their_own_columns_in_every_batch() -> None:
    first = decide_rows([{"userId": 1, "user_id": 2}])
    names = list(types(first))
    assert names[0] == "user_id"
    assert names[1].startswith("user_id_")
    assert [collision.plain_name for collision in first.collisions] == ["user_id"]

    second = decide_rows([{"user_id": 5}, {"userId": 6}], first.schema)

    assert second.schema is first.schema
    assert second.rule(("userId",), "bigint").column == "user_id"
    assert second.rule(("user_id",), "bigint").column == names[1]


def test_colliding_lists_keep_their_own_tables_in_every_batch() -> None:
    first = decide_rows([{"A b": [1], "a_b": [2]}])
    assert len(tables(first)) == 3

    second = decide_rows([{"a_b": [{"c": [1]}]}], first.schema)

    assert second.tables["a_b", EACH] == first.tables["a_b", EACH] != "t__a_b"
    assert second.tables["a_b", EACH, "c", EACH].startswith(second.tables["a_b", EACH])


@pytest.mark.parametrize("key", ["_dlt_load_id", "_dlt_parent_id", "_dlt_root_id", "_dlt_list_idx"])
def test_a_key_never_gets_the_name_of_a_system_column(key: str) -> None:
    decision = decide_rows([{key: "mine"}])

    assert decision.rule((key,), "text").column != key
    assert [collision.plain_name for collision in decision.collisions] == [key]


def test_an_id_in_the_data_is_used_as_the_row_id() -> None:
    decision = decide_rows([{"_dlt_id": "mine"}, {"_dlt_id": 5}])

    assert decision.rule(("_dlt_id",), "text").action == "keep"
    assert decision.rule(("_dlt_id",), "bigint").action == "convert"
    assert decision.schema.tables["t"].columns["_dlt_id"].has("row_key")


def test_a_key_named_like_a_variant_gets_a_separate_column() -> None:
    decision = decide_rows([{"a": 1, "a__v_text": "mine"}, {"a": "word"}])

    columns = types(decision)
    assert columns["a__v_text"] == "text"
    assert decision.rule(("a",), "text").column not in ("a", "a__v_text")


@pytest.mark.parametrize("key", ["", " ", "__", "\u202e", "日本", "a" * 999, "x\x00y", "`", '"', "../etc"])
def test_any_key_gets_a_name_that_fits(key: str) -> None:
    decision = decide_rows([{key: 1, "other": 2}], naming=naming_convention("snake_case", 63))

    assert all(0 < len(name) <= 63 for name in types(decision))
    assert len(types(decision)) == 2


def test_old_schemas_do_not_split_names_at_double_underscores() -> None:
    old = EMPTY.with_normalizers(use_break_path_on_normalize=False)

    assert list(types(decide_rows([{"a__b": 1}], old))) == ["a_b"]
    assert list(types(decide_rows([{"a__b": 1}]))) == ["a__b"]


def test_filters_exclude_columns() -> None:
    schema = Schema("shop")
    schema.update_table(
        {"name": "t", "columns": {}, "filters": {"excludes": ["re:^secret"], "includes": ["re:^secret_no"]}}
    )

    decision = decide_rows([{"secret": 1, "secret_not": 2, "x": 3}], schema.stored)

    assert types(decision) == {"secret_not": "bigint", "x": "bigint"}
    assert decision.rule(("secret",), "bigint").action == "exclude"


def test_nested_rows_of_a_merged_root_have_its_id() -> None:
    schema = Schema("shop")
    schema.update_table(Table(name="t", write_disposition="merge"))

    nested = decide_rows([{"l": [{"m": [1]}]}], schema.stored).schema.tables["t__l__m"]

    assert list(nested.columns) == ["value", "_dlt_root_id", "_dlt_parent_id", "_dlt_list_idx", "_dlt_id"]
    assert nested.columns["_dlt_root_id"].has("root_key")


def test_other_root_columns_can_be_propagated() -> None:
    json = {**EMPTY.normalizers["json"], "config": {"propagation": {"root": {"id": "order_id"}}}}

    decision = decide_rows([{"id": 7, "l": [1]}], EMPTY.with_normalizers(json=json))

    assert types(decision, "t__l") == {"value": "bigint", "order_id": "bigint"}


def test_a_batch_without_changes_returns_the_same_schema_object() -> None:
    stored = decide_rows([{"a": 1, "l": [{"b": "x"}]}]).schema

    decision = decide_rows([{"l": [{"b": "y"}, {}], "a": 2}], stored)

    assert decision.schema is stored
    assert decision.update == {}


def test_the_update_has_only_new_and_changed_columns() -> None:
    stored = decide_rows([{"a": 1}]).schema

    update = decide_rows([{"a": 2, "b": True, "l": [1]}], stored).update

    assert {name: list(table.columns) for name, table in update.items()} == {
        "t": ["b"],
        "t__l": ["value", "_dlt_parent_id", "_dlt_list_idx", "_dlt_id"],
    }


def test_system_columns_come_after_the_columns_of_the_first_row() -> None:
    decision = decide_rows([{"a": 1}, {"a": 2, "b": 3}])

    assert list(decision.schema.tables["t"].columns) == ["a", "_dlt_load_id", "_dlt_id", "b"]


def test_a_declared_row_id_gets_its_type_and_its_place_with_the_first_rows() -> None:
    stored = with_column("_dlt_id", **{"nullable": False, "x-row-version": True, "unique": False})

    decision = decide_rows([{"a": 1}], stored)

    columns = decision.schema.tables["t"].columns
    assert list(columns) == ["a", "_dlt_load_id", "_dlt_id"]
    assert columns["_dlt_id"].to_dict() == {
        **stored.tables["t"].columns["_dlt_id"].to_dict(),
        "data_type": "text",
    }
    assert decide_rows([{"a": 2}], decision.schema).schema is decision.schema


WIDE: dict[str, Any] = {"type_evolution": "widen"}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 3.7], {"x": "double"}),
        ([2**53 + 1, 3.5], {"x": "decimal"}),
        ([1, 2**70], {"x": "wei"}),
        ([1, "word"], {"x": "bigint", "x__v_text": "text"}),
        ([1, 1e300, 2**53 + 1], {"x": "bigint", "x__v_double": "double"}),
    ],
)
def test_a_new_column_is_widened_to_all_its_values(values: list[Any], expected: dict[str, str]) -> None:
    assert types(decide_rows([{"x": value} for value in values], **WIDE)) == expected


def test_a_stored_column_is_widened_only_if_the_destination_can_alter_it() -> None:
    stored = decide_rows([{"x": 1}]).schema

    assert types(decide_rows([{"x": 1.5}], stored, **WIDE)) == {"x": "bigint", "x__v_double": "double"}
    altered = decide_rows([{"x": 1.5}], stored, can_alter=frozenset({("bigint", "decimal")}), **WIDE)
    assert types(altered) == {"x": "decimal"}
    assert altered.update["t"].columns["x"].data_type == "decimal"
    assert altered.rule(("x",), "double").action == "convert"


def test_the_wider_type_holds_all_values() -> None:
    stored = decide_rows([{"x": 1}]).schema
    both = frozenset({("bigint", "double"), ("bigint", "decimal")})

    small = decide_rows([{"x": 1.5}, {"x": 2}], stored, can_alter=both, **WIDE)
    large = decide_rows([{"x": 1.5}, {"x": 2**53 + 1}], stored, can_alter=both, **WIDE)

    assert types(small) == {"x": "double"}
    assert types(large) == {"x": "decimal"}
    assert large.rule(("x",), "bigint").action == "convert"
    assert decide_rows([{"x": 5}], stored, can_alter=both, **WIDE).schema is stored


def test_a_timestamp_gets_more_digits_if_the_destination_can_alter_it() -> None:
    stored = with_column("at", data_type="timestamp", precision=3)
    row = [{"at": datetime(2024, 1, 2, microsecond=123456, tzinfo=UTC)}]

    assert decide_rows(row, stored, **WIDE).schema.tables["t"].columns["at"].precision == 3
    finer = decide_rows(row, stored, can_alter=frozenset({("timestamp", "timestamp")}), **WIDE)
    assert finer.schema.tables["t"].columns["at"] == Column(name="at", data_type="timestamp", precision=6)
