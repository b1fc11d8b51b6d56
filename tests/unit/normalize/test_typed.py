from __future__ import annotations

from typing import Any

import pytest

from penstock.interfaces.columns import array, field, file_name, mapping, struct
from penstock.normalize.kinds import Seen, questions
from penstock.normalize.shape import group_of, nested_schema
from penstock.normalize.tree import Leaf, ListOf, Object
from penstock.normalize.typed import tree_of
from penstock.normalize.types import arrival


def columns(**kinds: Any) -> dict[str, Any]:
    return struct(field(key, kind, name=file_name(key)) for key, kind in kinds.items())


def same(keys: Any) -> dict[str, str]:
    return {key: key for key in keys}


@pytest.mark.parametrize(
    ("kind", "sql", "data_type", "conversion"),
    [
        ("boolean", "BOOLEAN", "bool", "as_is"),
        ("byte", "BIGINT", "bigint", "as_is"),
        ("long", "BIGINT", "bigint", "as_is"),
        ("float", "DOUBLE", "double", "as_is"),
        ("string", "STRING", "text", "as_is"),
        ("binary", "BINARY", "binary", "as_is"),
        ("date", "DATE", "date", "as_is"),
        ("timestamp", "TIMESTAMP", "timestamp", "as_is"),
        ("timestamp_ntz", "TIMESTAMP", "timestamp", "as_is"),
        ("decimal(10,2)", "DECIMAL(10,2)", "decimal", "as_is"),
        ("variant", "VARIANT", "json", "document"),
        (mapping("string", "integer"), "MAP<STRING, INT>", "json", "document"),
        (
            mapping("string", struct([field("a.b", array("byte"), name="f")])),
            "MAP<STRING, STRUCT<`a.b`: ARRAY<TINYINT>>>",
            "json",
            "document",
        ),
    ],
)
def test_a_typed_column_is_what_its_type_says(kind: Any, sql: str, data_type: str, conversion: str) -> None:
    tree = tree_of(columns(x=kind))

    assert nested_schema(tree, same) == f"id STRING, row STRUCT<`x`: {sql}>"
    (value,) = group_of(tree, same).values
    arriving = arrival(value.leaf, Seen.NOTHING)
    assert (arriving.data_type, arriving.conversion) == (data_type, conversion)
    assert questions(group_of(tree, same)) == [], "nothing is in doubt"


def test_digits_of_a_decimal_are_kept() -> None:
    (value,) = group_of(tree_of(columns(x="decimal(10,2)")), same).values

    arriving = arrival(value.leaf, Seen.NOTHING)

    assert (arriving.precision, arriving.scale) == (10, 2)


@pytest.mark.parametrize("meaning", ["time", "json"])
def test_a_text_that_stands_for_something_else_is_that(meaning: Any) -> None:
    tree = tree_of(struct([field("x", "string", name="x", meaning=meaning)]))

    (value,) = group_of(tree, same).values
    assert arrival(value.leaf, Seen.NOTHING).data_type == meaning
    assert arrival(value.leaf, Seen.NOTHING).conversion == "as_is"


def test_structs_are_objects_arrays_are_lists_and_keys_are_those_of_the_user() -> None:
    inner = struct([field("Odd Key", "long", name="f0")])

    tree = tree_of(columns(A=inner, l=array(inner), n=array(array("string"))))

    assert isinstance(tree, Object)
    fields = dict(tree.fields)
    assert [key for key, _ in tree.fields] == ["A", "l", "n"]
    assert isinstance(fields["A"], Object)
    assert fields["A"].fields[0][0] == "Odd Key"
    assert fields["l"] == ListOf(fields["A"])
    assert isinstance(fields["n"], ListOf)
    assert isinstance(fields["n"].element, ListOf)
    assert isinstance(fields["n"].element.element, Leaf)
