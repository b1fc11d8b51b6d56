from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.extract.encode import encode
from penstock.normalize.nested_layout import (
    NestedLayout,
    build_layout,
    field_names,
    has_renamed_fields,
    spark_json_type,
    sql_type,
)
from penstock.normalize.profile import profile_rows
from penstock.package.projection.model import FieldAccess
from penstock.schema.value_path import EACH


def layout_of(*rows: Any, kept_as_json: tuple[Any, ...] = ()) -> NestedLayout:
    forms = profile_rows(encode(row) for row in rows).forms
    return build_layout(forms, lambda path, _: path in kept_as_json)


@pytest.mark.parametrize(
    ("rows", "sql"),
    [
        ([{"v": 1}], "BIGINT"),
        ([{"v": 1.5}], "DOUBLE"),
        ([{"v": True}], "BOOLEAN"),
        ([{"v": "x"}], "STRING"),
        ([{"v": "x"}, {"v": b"y"}], "STRING"),
        ([{"v": 1}, {"v": 1.5}], "VARIANT"),
        ([{"v": 1}, {"v": None}], "BIGINT"),
        ([{"v": 2**63}], "VARIANT"),
        ([{"v": {"a": 1}}, {"v": 1}], "VARIANT"),
        ([{"v": {"a": 1}}], "STRUCT<`a`: BIGINT>"),
        ([{"v": {}}], "STRING"),
        ([{"v": []}], "STRING"),
        ([{"v": [None]}], "ARRAY<STRING>"),
        ([{"v": [1]}, {"v": []}], "ARRAY<BIGINT>"),
        ([{"v": [[1], {"a": 1}]}], "ARRAY<VARIANT>"),
        ([{"v": [[1], [2]]}], "ARRAY<ARRAY<BIGINT>>"),
    ],
)
def test_the_storage_type_keeps_all_values_of_a_path_apart(rows: list[Any], sql: str) -> None:
    assert sql_type(layout_of(*rows).root) == f"STRUCT<`v`: {sql}>"


def test_a_value_kept_as_json_is_a_string_or_a_variant_beside_other_values() -> None:
    assert (
        sql_type(layout_of({"v": {"a": 1}}, {"v": [1]}, kept_as_json=(("v",),)).root) == "STRUCT<`v`: STRING>"
    )
    assert (
        sql_type(layout_of({"v": {"a": 1}}, {"v": 1}, kept_as_json=(("v",),)).root) == "STRUCT<`v`: VARIANT>"
    )


def test_rows_without_a_value_have_no_struct() -> None:
    assert layout_of({}, {"a": None}).columns.endswith("`row` BOOLEAN")


def test_a_path_resolves_to_its_field_below_the_nearest_row() -> None:
    layout = layout_of({"a": {"b c": [{"d": 1}]}, "m": 1}, {"m": {"x": [{"y": 1}]}})

    assert layout.resolve(("a", "b c", EACH, "d"))[1] == FieldAccess(path=("d",))
    assert layout.resolve(("a", "b c"))[1] == FieldAccess(path=("a", "k0"))
    assert layout.resolve(("m", "x"))[1] == FieldAccess(path=("m",), inside=("x",))
    assert layout.resolve(("m", "x", EACH, "y"))[1] == FieldAccess(inside=("y",))
    with pytest.raises(KeyError):
        layout.resolve(("a", "nothing"))


@given(st.lists(st.text(max_size=4) | st.sampled_from(("a", "A", "k0", "K1")), unique=True, max_size=8))
def test_field_names_are_identifiers_and_unique_without_regard_to_case(keys: list[str]) -> None:
    names = field_names(keys)

    assert list(names) == keys
    assert len({name.lower() for name in names.values()}) == len(keys)
    assert all(name.isascii() and name.isidentifier() for name in names.values())


def test_the_parser_gets_raw_keys() -> None:
    layout = layout_of({"": 1, "a`b": [1.5]})

    assert [field["name"] for field in spark_json_type(layout.root)["fields"]] == ["", "a`b"]
    assert has_renamed_fields(layout.root)
    assert not has_renamed_fields(layout_of({"a": [{"b": 1}]}).root)
