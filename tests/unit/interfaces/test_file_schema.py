from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.interfaces.file_schema import (
    array_type,
    column_key,
    file_column_name,
    map_type,
    merged_type,
    struct_field,
    struct_type,
)
from penstock.schema.frozen_map import freeze

kinds = st.recursive(
    st.sampled_from(["long", "string", "double", "decimal(5,2)"]),
    lambda inner: (
        inner.map(array_type)
        | st.builds(map_type, st.just("string"), inner)
        | st.dictionaries(st.sampled_from("abAB"), inner, min_size=1).map(
            lambda fields: struct_type(
                struct_field(key, kind, name=file_column_name(key)) for key, kind in fields.items()
            )
        )
    ),
    max_leaves=6,
)
documents = st.dictionaries(st.text(max_size=2), kinds, max_size=4).map(
    lambda fields: struct_type(
        struct_field(key, kind, name=file_column_name(key)) for key, kind in fields.items()
    )
)


def names(document: Any) -> set[str]:
    return {column_key(column) for column in document["fields"]}


@given(document=documents)
def test_merging_a_type_with_itself_or_with_an_empty_one_does_not_change_it(document: dict[str, Any]) -> None:
    assert merged_type(document, document) == document
    assert merged_type(document, struct_type([])) == document
    assert merged_type(struct_type([]), document) == document
    assert merged_type(freeze(document), freeze(document)) == freeze(document)


@given(one=documents, two=documents)
def test_joined_columns_have_all_that_either_has_and_join_both_again(
    one: dict[str, Any], two: dict[str, Any]
) -> None:
    both = merged_type(one, two)

    if both is None:
        assert names(one) & names(two), "only columns that both have can contradict each other"
        assert merged_type(two, one) is None
    else:
        assert names(both) == names(one) | names(two)
        assert merged_type(both, one) == merged_type(both, two) == both


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("long", "double"),
        (array_type("long"), array_type("string")),
        (array_type("long"), "long"),
        (map_type("string", "long"), array_type("long")),
    ],
)
def test_types_that_contradict_each_other_are_not_joined(one: Any, two: Any) -> None:
    assert (
        merged_type(
            struct_type([struct_field("a", one, name="a")]), struct_type([struct_field("a", two, name="a")])
        )
        is None
    )


def test_a_text_of_another_kind_is_not_merged_with_a_plain_text() -> None:
    plain, time = (
        struct_type([struct_field("a", "string", name="a", logical_type=kind)]) for kind in (None, "time")
    )

    assert merged_type(plain, time) is None


def test_fields_of_structs_are_joined_inside_lists_too() -> None:
    one, two = (
        struct_type(
            [struct_field("l", array_type(struct_type([struct_field(key, "long", name=key)])), name="l")]
        )
        for key in "xy"
    )

    both = merged_type(one, two)

    assert [inner["name"] for inner in both["fields"][0]["type"]["elementType"]["fields"]] == ["x", "y"]
