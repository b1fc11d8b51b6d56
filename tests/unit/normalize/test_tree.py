from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.normalize.tree import Kind, Leaf, ListOf, Node, Object, ordered_like, parse_tree, pruned

PRINTED: dict[Kind, list[str]] = {
    "bool": ["BOOLEAN"],
    "bigint": ["BIGINT"],
    "wide": ["DECIMAL(19,0)", "DECIMAL(38,0)"],
    "double": ["DOUBLE", "FLOAT", "DECIMAL(18,0)", "DECIMAL(3,1)", "DECIMAL(38,2)"],
    "text": ["STRING"],
    "mixed": ["VARIANT"],
    "void": ["VOID"],
}
keys = st.text(max_size=6) | st.sampled_from(
    (
        "OBJECT",
        "ARRAY",
        "DECIMAL",
        "STRING",
        "`",
        "``",
        "a`b",
        ">",
        "<",
        ",",
        ":",
        "",
        " ",
        "1",
        "a b",
        "\n",
        "ü",
    )
)
leaves = st.sampled_from([Leaf(kind) for kind in PRINTED])


def containers(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    objects = st.dictionaries(keys, inner, max_size=4).map(lambda fields: Object(tuple(fields.items())))
    return st.builds(ListOf, inner) | objects


trees: st.SearchStrategy[Node] = st.recursive(leaves, containers, max_leaves=12)


def printed(node: Node, draw: st.DataObject) -> str:
    """As Spark prints it: a key is quoted unless it is a word that is not a number."""
    match node:
        case Leaf(kind):
            return draw.draw(st.sampled_from(PRINTED[kind]))
        case ListOf(element):
            return f"ARRAY<{printed(element, draw)}>"
        case Object(fields):
            inner = ", ".join(f"{quoted(key)}: {printed(child, draw)}" for key, child in fields)
            return f"OBJECT<{inner}>"


def quoted(key: str) -> str:
    plain = re.fullmatch(r"[a-zA-Z0-9_]+", key) and not re.fullmatch(r"[0-9]+", key)
    return key if plain else "`" + key.replace("`", "``") + "`"


def key_order(node: Node) -> Any:
    match node:
        case Object(fields):
            return [(key, key_order(child)) for key, child in fields]
        case ListOf(element):
            return [key_order(element)]
        case Leaf(kind):
            return kind


def without_order(node: Node) -> Any:
    match node:
        case Object(fields):
            return {key: without_order(child) for key, child in fields}
        case ListOf(element):
            return [without_order(element)]
        case Leaf():
            return node


@given(tree=trees, draw=st.data())
def test_a_tree_reads_back_from_what_spark_prints(tree: Node, draw: st.DataObject) -> None:
    assert parse_tree(printed(tree, draw)) == tree


@pytest.mark.parametrize(
    ("kind", "text"), [(kind, text) for kind, texts in PRINTED.items() for text in texts]
)
def test_every_name_of_a_type_has_its_kind(kind: Kind, text: str) -> None:
    assert parse_tree(text) == Leaf(kind)
    assert parse_tree(f"ARRAY<{text}>") == ListOf(Leaf(kind))


def test_deep_nesting_is_read() -> None:
    depth = 200

    node = parse_tree("OBJECT<a: " * depth + "BIGINT" + ">" * depth)

    for _ in range(depth):
        assert isinstance(node, Object)
        ((_, node),) = node.fields
    assert node == Leaf("bigint")


@pytest.mark.parametrize("text", ["OBJECT<a: BIGINT> extra", "BIGINT BIGINT", "OBJECT<>>"])
def test_what_follows_a_whole_type_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="cannot read the type"):
        parse_tree(text)


@pytest.mark.parametrize("text", ["INTERVAL", "OBJECT<a: MAP>"])
def test_a_type_that_json_does_not_have_is_an_error(text: str) -> None:
    with pytest.raises(KeyError):
        parse_tree(text)


def test_keys_follow_the_example_and_others_come_after_in_their_own_order() -> None:
    tree = parse_tree(
        "OBJECT<a: BIGINT, b: OBJECT<x: BIGINT, y: BIGINT>, c: ARRAY<OBJECT<p: BIGINT, q: BIGINT>>, z: VOID>"
    )
    example = json.loads('{"z": 1, "c": [{"q": 1, "p": 2}, {"p": 1}], "b": {"y": 1}}')

    assert key_order(ordered_like(tree, example)) == [
        ("z", "void"),
        ("c", [[("q", "bigint"), ("p", "bigint")]]),
        ("b", [("y", "bigint"), ("x", "bigint")]),
        ("a", "bigint"),
    ]


@given(
    tree=trees,
    example=st.recursive(
        st.none() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(keys, inner), max_leaves=8
    ),
)
def test_an_example_of_any_shape_changes_nothing_but_the_order(tree: Node, example: Any) -> None:
    ordered = ordered_like(tree, example)

    assert without_order(ordered) == without_order(tree)
    assert ordered_like(ordered, example) == ordered
    assert ordered_like(tree, None) == tree


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("VOID", None),
        ("OBJECT<>", None),
        ("ARRAY<VOID>", None),
        ("ARRAY<OBJECT<>>", None),
        ("ARRAY<ARRAY<VOID>>", None),
        ("OBJECT<a: VOID, b: OBJECT<c: ARRAY<VOID>>>", None),
        ("OBJECT<a: VOID, b: BIGINT>", Object((("b", Leaf("bigint")),))),
        ("ARRAY<OBJECT<a: VOID, b: STRING>>", ListOf(Object((("b", Leaf("text")),)))),
    ],
)
def test_what_holds_no_value_is_cut_off(text: str, left: Node | None) -> None:
    assert pruned(parse_tree(text)) == left


@given(tree=trees)
def test_what_is_left_holds_values_everywhere_and_pruning_again_changes_nothing(tree: Node) -> None:
    left = pruned(tree)

    if left is not None:
        assert "void" not in str(left)
        assert "Object(fields=())" not in str(left)
        assert pruned(left) == left
