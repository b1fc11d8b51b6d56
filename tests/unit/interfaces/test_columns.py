from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.interfaces.columns import array, field, file_name, joined, key_of, mapping, struct
from penstock.schema.frozen import freeze

kinds = st.recursive(
    st.sampled_from(["long", "string", "double", "decimal(5,2)"]),
    lambda inner: (
        inner.map(array)
        | st.builds(mapping, st.just("string"), inner)
        | st.dictionaries(st.sampled_from("abAB"), inner, min_size=1).map(
            lambda fields: struct(field(key, kind, name=file_name(key)) for key, kind in fields.items())
        )
    ),
    max_leaves=6,
)
documents = st.dictionaries(st.text(max_size=2), kinds, max_size=4).map(
    lambda fields: struct(field(key, kind, name=file_name(key)) for key, kind in fields.items())
)


def names(document: Any) -> set[str]:
    return {key_of(column) for column in document["fields"]}


@given(document=documents)
def test_what_is_joined_with_itself_or_with_nothing_stays_as_it_is(document: dict[str, Any]) -> None:
    assert joined(document, document) == document
    assert joined(document, struct([])) == document
    assert joined(struct([]), document) == document
    assert joined(freeze(document), freeze(document)) == freeze(document)


@given(one=documents, two=documents)
def test_joined_columns_have_all_that_either_has_and_join_both_again(
    one: dict[str, Any], two: dict[str, Any]
) -> None:
    both = joined(one, two)

    if both is None:
        assert names(one) & names(two), "only columns that both have can contradict each other"
        assert joined(two, one) is None
    else:
        assert names(both) == names(one) | names(two)
        assert joined(both, one) == joined(both, two) == both


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("long", "double"),
        (array("long"), array("string")),
        (array("long"), "long"),
        (mapping("string", "long"), array("long")),
    ],
)
def test_types_that_contradict_each_other_are_not_joined(one: Any, two: Any) -> None:
    assert joined(struct([field("a", one, name="a")]), struct([field("a", two, name="a")])) is None


def test_a_text_that_stands_for_something_else_is_not_joined_with_a_plain_one() -> None:
    plain, time = (struct([field("a", "string", name="a", meaning=kind)]) for kind in (None, "time"))

    assert joined(plain, time) is None


def test_fields_of_structs_are_joined_inside_lists_too() -> None:
    one, two = (struct([field("l", array(struct([field(key, "long", name=key)])), name="l")]) for key in "xy")

    both = joined(one, two)

    assert [inner["name"] for inner in both["fields"][0]["type"]["elementType"]["fields"]] == ["x", "y"]
