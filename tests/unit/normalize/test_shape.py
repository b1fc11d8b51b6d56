from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from penstock.normalize.shape import Group, Value, group_of, nested_schema, sql_type
from penstock.normalize.tree import Leaf, ListOf, Node, Object, parse_tree
from penstock.schema import naming, unique_names
from penstock.schema.shorten import tag_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

keys = st.text(max_size=4) | st.text("aA_ ", max_size=3)


def containers(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    objects = st.dictionaries(keys, inner, max_size=4).map(lambda fields: Object(tuple(fields.items())))
    return st.builds(ListOf, inner) | objects


trees: st.SearchStrategy[Node] = st.recursive(
    st.sampled_from([Leaf("text"), Leaf("bigint")]), containers, max_leaves=10
)


def name_keys(raw: Sequence[str]) -> Mapping[str, str]:
    return unique_names(raw, naming("snake_case"), fold_case=True)


def leaves(node: Node) -> int:
    match node:
        case Leaf():
            return 1
        case ListOf(element):
            return leaves(element)
        case Object(fields):
            return sum(leaves(child) for _, child in fields)


def lists(node: Node) -> int:
    match node:
        case Leaf():
            return 0
        case ListOf(element):
            return 1 + lists(element)
        case Object(fields):
            return sum(lists(child) for _, child in fields)


def test_objects_are_flattened_and_lists_become_groups() -> None:
    tree = parse_tree("OBJECT<Id: BIGINT, seller: OBJECT<`home city`: STRING>, tags: ARRAY<STRING>>")

    assert group_of(tree, name_keys) == Group(
        keys=(),
        names=(),
        values=(
            Value(keys=("Id",), names=("id",), leaf=Leaf("bigint")),
            Value(keys=("seller", "home city"), names=("seller", "home_city"), leaf=Leaf("text")),
        ),
        children=(
            Group(
                keys=("tags",),
                names=("tags",),
                values=(Value(keys=(), names=(), leaf=Leaf("text")),),
                children=(),
            ),
        ),
    )


def test_a_list_inside_an_object_is_found_by_the_whole_way_to_it() -> None:
    root = group_of(parse_tree("OBJECT<A: OBJECT<B: ARRAY<OBJECT<c: BIGINT>>>>"), name_keys)

    (child,) = root.children
    assert (child.keys, child.names) == (("A", "B"), ("a", "b"))
    assert child.values == (Value(keys=("c",), names=("c",), leaf=Leaf("bigint")),)


def test_a_list_of_lists_is_a_group_without_keys_inside_a_group() -> None:
    root = group_of(parse_tree("OBJECT<m: ARRAY<ARRAY<BIGINT>>>"), name_keys)

    ways = list(root.walk())
    assert [[group.keys for group in way] for way in ways] == [[()], [(), ("m",)], [(), ("m",), ()]]
    assert [len(way[-1].values) for way in ways] == [0, 0, 1]


@given(tree=trees)
def test_every_leaf_is_one_value_and_every_list_one_group(tree: Node) -> None:
    ways = list(group_of(tree, name_keys).walk())

    assert sum(len(way[-1].values) for way in ways) == leaves(tree)
    assert len(ways) == 1 + lists(tree)
    assert all(way[:-1] in ways for way in ways if len(way) > 1)


@given(tree=trees)
def test_no_two_values_of_a_group_have_the_same_names(tree: Node) -> None:
    for way in group_of(tree, name_keys).walk():
        names = [value.names for value in way[-1].values] + [child.names for child in way[-1].children]

        assert len(set(names)) == len(names)
        assert all(len(value.keys) == len(value.names) for value in way[-1].values)


@pytest.mark.parametrize(
    ("tree", "columns"),
    [
        ("OBJECT<>", "id STRING, row BOOLEAN"),
        (
            "OBJECT<`Home City`: STRING, n: DECIMAL(20,0), m: VARIANT, v: VOID>",
            "id STRING, row STRUCT<`home_city`: STRING, `n`: DECIMAL(38,0), `m`: VARIANT, `v`: STRING>",
        ),
        (
            "OBJECT<l: ARRAY<ARRAY<OBJECT<x: DOUBLE, X: BIGINT>>>>",
            "id STRING, row STRUCT<`l`: ARRAY<ARRAY<STRUCT<`x`: DOUBLE, `XX`: BIGINT>>>>",
        ),
    ],
)
def test_the_columns_of_the_nested_dataset_are_told_without_opening_it(tree: str, columns: str) -> None:
    expected = columns.replace("XX", f"x_{tag_of('X')}")

    assert nested_schema(parse_tree(tree), name_keys) == expected


@given(key=st.text("`'\\\"<>,: \nü", min_size=1, max_size=5))
def test_whatever_a_key_is_it_stays_inside_its_quotes(key: str) -> None:
    tree = Object(((key, Leaf("bigint")), (f"{key}2", ListOf(Leaf("text")))))

    sql = sql_type(tree, lambda raw: {name: name for name in raw})

    parsed = exp.DataType.build(sql, dialect="spark")
    assert [(field.name, field.args["kind"].sql("spark")) for field in parsed.expressions] == [
        (key, "BIGINT"),
        (f"{key}2", "ARRAY<STRING>"),
    ]
