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


def after(rows: list[Any], stored: StoredSchema = EMPTY, **terms: Any) -> Decision:
    return decide(stored, "t", gather(rows), InferenceOptions(**terms))


def types(decision: Decision, table: str = "t") -> dict[str, str | None]:
    columns = decision.schema.tables[table].columns
    return {name: column.data_type for name, column in columns.items() if not name.startswith("_dlt")}


def tables(decision: Decision) -> list[str]:
    return [name for name in decision.schema.tables if not name.startswith("_dlt")]


def with_column(name: str, **facts: Any) -> StoredSchema:
    schema = Schema("shop")
    schema.update_table(Table.from_dict({"name": "t", "columns": {name: facts}}))
    return schema.stored


def test_an_integer_then_a_fraction_is_a_variant_column() -> None:
    decision = after([{"x": 1}, {"x": 3.7}])

    assert types(decision) == {"x": "bigint", "x__v_double": "double"}
    assert decision.schema.tables["t"].columns["x__v_double"].has("variant")


def test_the_first_value_decides_wherever_it_was_seen() -> None:
    early, late = gather([{"x": "word"}], start=3), gather([{"x": 7}], start=10)

    assert types(decide(EMPTY, "t", (*late, *early))) == {"x": "text"}
    assert types(decide(EMPTY, "t", gather([{"x": 7}, {"x": "word"}]))) == {
        "x": "bigint",
        "x__v_text": "text",
    }


def test_nulls_in_a_list_are_rows_without_a_value() -> None:
    decision = after([{"l": [None, 1]}])

    assert types(decision, "t__l") == {"value": "bigint"}
    assert decision.rule(("l", EACH), "null").action == "nothing"
    assert decision.tables == {(): "t", ("l", EACH): "t__l"}


def test_a_column_of_nothing_but_nulls_is_not_made_and_is_reported() -> None:
    decision = after([{"id": 1, "gone": None}])

    assert types(decision) == {"id": "bigint"}
    assert decision.never_typed == {"t": ("gone",)}


def test_objects_are_flattened_and_lists_are_tables() -> None:
    decision = after([{"a": {"b": {"c": 1}}, "l": [{"m": [[2]]}]}])

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
def test_what_is_nested_too_deep_is_json(nesting: int, expected: dict[str, Any]) -> None:
    json = {**EMPTY.normalizers["json"], "config": {"max_nesting": nesting}}
    decision = after([{"d": {"e": {"f": 1}}, "l": [{"m": [1]}]}], EMPTY.with_normalizers(json=json))

    assert {name: types(decision, name) for name in tables(decision)} == expected


def test_a_json_column_takes_objects_whole() -> None:
    decision = after([{"meta": {"a": 1}}], with_column("meta", data_type="json"))

    assert types(decision) == {"meta": "json"}
    assert decision.rule(("meta",), "object").action == "json"


def test_a_map_with_too_many_keys_is_json_unless_it_began_as_columns() -> None:
    rows = [{"m": {f"k{number}": number for number in range(20)}, "x": 1}]

    assert types(after(rows, max_columns=10)) == {"x": "bigint", "m": "json"}
    begun = after([{"m": {"k1": 1}}]).schema
    assert len(types(after(rows, begun, max_columns=10))) == 21


def test_preferred_types_come_before_the_value_and_variants_do_not_have_them() -> None:
    stored = EMPTY.with_settings(preferred_types={"re:_at$": "timestamp"})

    assert types(after([{"made_at": 1_700_000_000}], stored)) == {"made_at": "timestamp"}
    assert types(after([{"made_at": "never"}], stored)) == {"made_at__v_text": "text"}


def test_detectors_are_asked_in_their_order() -> None:
    both = EMPTY.with_settings(detections=["iso_timestamp", "iso_date"])
    row = [{"day": "2024-01-02", "at": "2024-01-02T03:04Z"}]

    assert types(after(row)) == {"day": "text", "at": "timestamp"}
    assert types(after(row, both)) == {"day": "date", "at": "timestamp"}
    assert types(after(row, EMPTY.with_settings(detections=[]))) == {"day": "text", "at": "text"}


def test_a_variant_is_typed_by_all_that_goes_into_it() -> None:
    decision = after([{"x": 1}, {"x": "2024-01-02T03:04Z"}, {"x": "word"}])
    assert types(decision) == {"x": "bigint", "x__v_text": "text"}

    typed = after([{"x": 1}, {"x": "2024-01-02T03:04Z"}])
    assert types(typed) == {"x": "bigint", "x__v_text": "timestamp"}
    assert types(after([{"x": "word"}], typed.schema))["x__v_text__v_text"] == "text"


def test_a_declared_column_waits_for_its_type_and_keeps_what_was_said() -> None:
    decision = after([{"id": 5}], with_column("id", primary_key=True, nullable=False))

    column = decision.schema.tables["t"].columns["id"]
    assert (column.data_type, column.nullable, column.has("primary_key")) == ("bigint", False, True)


def test_a_null_where_a_value_must_be_is_refused_and_counted() -> None:
    decision = after(
        [{"id": None}, {"id": 3}, {"id": None}], with_column("id", data_type="bigint", nullable=False)
    )

    (refusal,) = decision.refusals
    assert (refusal.entity, refusal.mode, refusal.count) == ("nullable", "discard_row", 2)
    assert decision.rule(("id",), "null").action == "discard_row"


def test_values_of_one_type_that_part_ways_have_one_rule() -> None:
    decision = after([{"x": 1}, {"x": "7"}, {"x": "word"}])

    rule = decision.rule(("x",), "text")
    assert (rule.action, rule.column) == ("convert", "x")
    assert rule.otherwise is not None
    assert (rule.otherwise.action, rule.otherwise.column) == ("keep", "x__v_text")


def test_two_keys_that_meet_in_one_name_are_both_kept_in_every_batch() -> None:
    first = after([{"userId": 1, "user_id": 2}])
    names = list(types(first))
    assert names[0] == "user_id"
    assert names[1].startswith("user_id_")
    assert [collision.plain_name for collision in first.collisions] == ["user_id"]

    second = after([{"user_id": 5}, {"userId": 6}], first.schema)

    assert second.schema is first.schema
    assert second.rule(("userId",), "bigint").column == "user_id"
    assert second.rule(("user_id",), "bigint").column == names[1]


def test_two_lists_that_meet_in_one_name_are_two_tables_in_every_batch() -> None:
    first = after([{"A b": [1], "a_b": [2]}])
    assert len(tables(first)) == 3

    second = after([{"a_b": [{"c": [1]}]}], first.schema)

    assert second.tables["a_b", EACH] == first.tables["a_b", EACH] != "t__a_b"
    assert second.tables["a_b", EACH, "c", EACH].startswith(second.tables["a_b", EACH])


@pytest.mark.parametrize("key", ["_dlt_load_id", "_dlt_parent_id", "_dlt_root_id", "_dlt_list_idx"])
def test_a_key_cannot_take_a_column_that_the_engine_fills(key: str) -> None:
    decision = after([{key: "mine"}])

    assert decision.rule((key,), "text").column != key
    assert [collision.plain_name for collision in decision.collisions] == [key]


def test_an_id_in_the_data_is_the_id_of_the_row() -> None:
    decision = after([{"_dlt_id": "mine"}, {"_dlt_id": 5}])

    assert decision.rule(("_dlt_id",), "text").action == "keep"
    assert decision.rule(("_dlt_id",), "bigint").action == "convert"
    assert decision.schema.tables["t"].columns["_dlt_id"].has("row_key")


def test_a_key_that_looks_like_a_variant_keeps_its_own_column() -> None:
    decision = after([{"a": 1, "a__v_text": "mine"}, {"a": "word"}])

    columns = types(decision)
    assert columns["a__v_text"] == "text"
    assert decision.rule(("a",), "text").column not in ("a", "a__v_text")


@pytest.mark.parametrize("key", ["", " ", "__", "\u202e", "日本", "a" * 999, "x\x00y", "`", '"', "../etc"])
def test_any_key_gets_a_name_that_fits(key: str) -> None:
    decision = after([{key: 1, "other": 2}], naming=naming_convention("snake_case", 63))

    assert all(0 < len(name) <= 63 for name in types(decision))
    assert len(types(decision)) == 2


def test_old_schemas_do_not_take_double_underscores_for_paths() -> None:
    old = EMPTY.with_normalizers(use_break_path_on_normalize=False)

    assert list(types(after([{"a__b": 1}], old))) == ["a_b"]
    assert list(types(after([{"a__b": 1}]))) == ["a__b"]


def test_filters_leave_columns_out() -> None:
    schema = Schema("shop")
    schema.update_table(
        {"name": "t", "columns": {}, "filters": {"excludes": ["re:^secret"], "includes": ["re:^secret_no"]}}
    )

    decision = after([{"secret": 1, "secret_not": 2, "x": 3}], schema.stored)

    assert types(decision) == {"secret_not": "bigint", "x": "bigint"}
    assert decision.rule(("secret",), "bigint").action == "exclude"


def test_rows_below_a_merged_root_carry_its_id() -> None:
    schema = Schema("shop")
    schema.update_table(Table(name="t", write_disposition="merge"))

    nested = after([{"l": [{"m": [1]}]}], schema.stored).schema.tables["t__l__m"]

    assert list(nested.columns) == ["value", "_dlt_root_id", "_dlt_parent_id", "_dlt_list_idx", "_dlt_id"]
    assert nested.columns["_dlt_root_id"].has("root_key")


def test_other_columns_of_a_root_can_be_sent_down() -> None:
    json = {**EMPTY.normalizers["json"], "config": {"propagation": {"root": {"id": "order_id"}}}}

    decision = after([{"id": 7, "l": [1]}], EMPTY.with_normalizers(json=json))

    assert types(decision, "t__l") == {"value": "bigint", "order_id": "bigint"}


def test_nothing_new_gives_back_the_very_schema() -> None:
    stored = after([{"a": 1, "l": [{"b": "x"}]}]).schema

    decision = after([{"l": [{"b": "y"}, {}], "a": 2}], stored)

    assert decision.schema is stored
    assert decision.update == {}


def test_the_update_has_just_what_is_new() -> None:
    stored = after([{"a": 1}]).schema

    update = after([{"a": 2, "b": True, "l": [1]}], stored).update

    assert {name: list(table.columns) for name, table in update.items()} == {
        "t": ["b"],
        "t__l": ["value", "_dlt_parent_id", "_dlt_list_idx", "_dlt_id"],
    }


def test_columns_of_the_first_row_come_before_those_of_the_engine() -> None:
    decision = after([{"a": 1}, {"a": 2, "b": 3}])

    assert list(decision.schema.tables["t"].columns) == ["a", "_dlt_load_id", "_dlt_id", "b"]


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
def test_a_new_column_is_as_wide_as_its_values_where_that_is_wanted(
    values: list[Any], expected: dict[str, str]
) -> None:
    assert types(after([{"x": value} for value in values], **WIDE)) == expected


def test_a_stored_column_widens_only_where_the_destination_can_alter_it() -> None:
    stored = after([{"x": 1}]).schema

    assert types(after([{"x": 1.5}], stored, **WIDE)) == {"x": "bigint", "x__v_double": "double"}
    altered = after([{"x": 1.5}], stored, can_alter=frozenset({("bigint", "decimal")}), **WIDE)
    assert types(altered) == {"x": "decimal"}
    assert altered.update["t"].columns["x"].data_type == "decimal"
    assert altered.rule(("x",), "double").action == "convert"


def test_all_values_have_a_say_in_what_is_wide_enough() -> None:
    stored = after([{"x": 1}]).schema
    both = frozenset({("bigint", "double"), ("bigint", "decimal")})

    small = after([{"x": 1.5}, {"x": 2}], stored, can_alter=both, **WIDE)
    large = after([{"x": 1.5}, {"x": 2**53 + 1}], stored, can_alter=both, **WIDE)

    assert types(small) == {"x": "double"}
    assert types(large) == {"x": "decimal"}
    assert large.rule(("x",), "bigint").action == "convert"
    assert after([{"x": 5}], stored, can_alter=both, **WIDE).schema is stored


def test_a_timestamp_keeps_more_digits_where_the_destination_can_alter_it() -> None:
    stored = with_column("at", data_type="timestamp", precision=3)
    row = [{"at": datetime(2024, 1, 2, microsecond=123456, tzinfo=UTC)}]

    assert after(row, stored, **WIDE).schema.tables["t"].columns["at"].precision == 3
    finer = after(row, stored, can_alter=frozenset({("timestamp", "timestamp")}), **WIDE)
    assert finer.schema.tables["t"].columns["at"] == Column(name="at", data_type="timestamp", precision=6)
