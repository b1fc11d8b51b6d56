from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import UnsupportedColumnType
from penstock.interfaces.file_schema import array_type, map_type, original_type, struct_field, struct_type
from penstock.spark.frame_schema import FrameSchema, table_schema, writable_schema

POINT = {"type": "udt", "class": "x.PointUDT", "pyClass": "x.PointUDT", "sqlType": array_type("double")}


def rules(**kinds: Any) -> FrameSchema:
    return writable_schema(struct_type(struct_field(key, kind, name=key) for key, kind in kinds.items()))


def test_most_columns_are_written_as_they_are() -> None:
    kinds = {
        "flag": "boolean",
        "small": "byte",
        "price": "decimal(10,2)",
        "at": "timestamp_ntz",
        "doc": "variant",
        "nested": struct_type([struct_field("x", array_type("long"), name="x")]),
        "lookup": map_type("string", "long"),
    }

    found = rules(**kinds)

    assert {column.action for column in found.columns} == {"as_is"}
    assert {column["name"]: column["type"] for column in found.document["fields"]} == kinds


@pytest.mark.parametrize(
    ("kind", "action", "read"),
    [
        ("char(3)", "as_is", "string"),
        ("varchar(9)", "as_is", "string"),
        ("string collate UNICODE_CI", "as_is", "string"),
        ("interval day to second", "microseconds", "long"),
        ("interval hour", "microseconds", "long"),
        ("interval year to month", "months", "long"),
        ("interval month", "months", "long"),
        ("time(6)", "text", "string"),
        (POINT, "as_is", array_type("double")),
        (array_type(POINT), "as_is", array_type(array_type("double"))),
    ],
)
def test_some_types_become_others(kind: Any, action: str, read: Any) -> None:
    found = rules(x=kind)

    assert [column.action for column in found.columns] == [action]
    assert found.document["fields"][0]["type"] == read


def test_a_time_of_day_is_marked_in_the_schema_document() -> None:
    assert rules(x="time(6)").document["fields"][0]["metadata"] == {"kind": "time"}


def test_columns_without_a_type_are_skipped_and_the_order_is_kept() -> None:
    inner = struct_type([struct_field("void", "void", name="void"), struct_field("x", "long", name="x")])

    found = rules(nothing="void", nothings=array_type("void"), empty=struct_type([]), s=inner, y="long")

    assert [(column.name, column.position, column.action) for column in found.columns] == [
        ("s", 3, "cast"),
        ("y", 4, "as_is"),
    ]
    written, read = found.columns[0].kind, found.document["fields"][0]["type"]
    assert [one["type"] for one in written["fields"]] == ["string", "long"]
    assert [one["name"] for one in read["fields"]] == ["x"]


def test_fields_that_differ_in_case_only_get_names_that_differ_more() -> None:
    inner = struct_type(struct_field(key, "long", name=key) for key in ("id", "ID", "other"))

    found = rules(s=inner)

    read = found.document["fields"][0]["type"]["fields"]
    assert [(one["name"], one["metadata"]) for one in read] == [
        ("id_0", {"key": "id"}),
        ("ID_1", {"key": "ID"}),
        ("other", {}),
    ]
    assert found.columns[0].action == "cast"


@pytest.mark.parametrize(
    ("kinds", "column"),
    [
        ({"i": "interval"}, "i"),
        ({"s": struct_type([struct_field("i", "interval day", name="i")])}, "s.i"),
        ({"l": array_type("time(6)")}, r"l\[\]"),
        ({"m": map_type("string", "interval")}, "m.value"),
        ({"s": struct_type([struct_field("e", struct_type([]), name="e")])}, "s.e"),
        ({"g": {"type": "geometry"}}, "g"),
        ({"s": struct_type([struct_field("x", "long", name="x")] * 2)}, "s.x"),
    ],
)
def test_an_unsupported_type_is_an_error_with_the_column_name(kinds: dict[str, Any], column: str) -> None:
    with pytest.raises(UnsupportedColumnType, match=f"column {column} of a frame"):
        rules(**kinds)


def test_a_duplicate_name_is_an_error() -> None:
    with pytest.raises(UnsupportedColumnType, match="column x of a frame"):
        writable_schema(struct_type([struct_field("x", "long", name="x")] * 2))


TABLE_TYPES = {
    **{kind: kind for kind in ("boolean", "long", "double", "string", "binary", "date", "timestamp")},
    "decimal(10,2)": "decimal(10,2)",
    "varchar(9)": "string",
    "interval hour": "long",
    "byte": "long",
    "short": "long",
    "integer": "long",
    "float": "double",
}
OTHER_TYPES: tuple[Any, ...] = (
    "timestamp_ntz",
    "time(6)",
    "variant",
    array_type("long"),
    map_type("string", "long"),
    struct_type([struct_field("x", "long", name="x")]),
)
PLAIN_NAMES, OTHER_NAMES = ("id", "a_b", "n1"), ("Id", "_id", "a b", "c", "größe", "_dlt_id")


@given(
    st.dictionaries(
        st.sampled_from((*PLAIN_NAMES, *OTHER_NAMES)),
        st.sampled_from((*TABLE_TYPES, *OTHER_TYPES, "void")),
        min_size=1,
    )
)
def test_a_table_takes_files_if_all_names_are_plain_and_all_types_are_its_own(kinds: dict[str, Any]) -> None:
    written = {name: kind for name, kind in kinds.items() if kind != "void"}

    schema = table_schema(rules(**kinds))

    is_flat = all(
        name in PLAIN_NAMES and isinstance(kind, str) and kind in TABLE_TYPES
        for name, kind in written.items()
    )
    if schema is None:
        assert not is_flat or not written
        return
    assert is_flat
    assert {column["name"]: column["type"] for column in schema.document["fields"]} == {
        name: TABLE_TYPES[kind] for name, kind in written.items()
    }
    read = {column["name"]: column["type"] for column in rules(**kinds).document["fields"]}
    assert {column["name"]: original_type(column) for column in schema.document["fields"]} == read
    assert [column.name for column in schema.columns] == list(written)


def test_numbers_are_widened_by_a_cast() -> None:
    schema = table_schema(rules(small="byte", half="float", id="long"))

    assert schema is not None
    assert [(column.action, column.kind) for column in schema.columns] == [
        ("cast", "long"),
        ("cast", "double"),
        ("as_is", "long"),
    ]
    assert [column["metadata"] for column in schema.document["fields"]] == [
        {"original": "byte"},
        {"original": "float"},
        {},
    ]


@pytest.mark.parametrize("meaning", ["time", "json"])
def test_texts_that_represent_another_type_need_work(meaning: str) -> None:
    column = {**struct_field("x", "string", name="x"), "metadata": {"penstock.kind": meaning}}

    assert table_schema(writable_schema(struct_type([column]))) is None
