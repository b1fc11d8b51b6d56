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


def dataset(*rows: Any, whole: tuple[Any, ...] = ()) -> NestedLayout:
    return build_layout(profile_rows(encode(row) for row in rows).forms, lambda path, _: path in whole)


@pytest.mark.parametrize(
    ("rows", "kind"),
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
def test_values_are_stored_as_what_they_are(rows: list[Any], kind: str) -> None:
    assert sql_type(dataset(*rows).root) == f"STRUCT<`v`: {kind}>"


def test_what_is_kept_whole_is_json_text_unless_other_values_stand_there_too() -> None:
    assert sql_type(dataset({"v": {"a": 1}}, {"v": [1]}, whole=(("v",),)).root) == "STRUCT<`v`: STRING>"
    assert sql_type(dataset({"v": {"a": 1}}, {"v": 1}, whole=(("v",),)).root) == "STRUCT<`v`: VARIANT>"


def test_rows_without_a_value_have_no_struct() -> None:
    assert dataset({}, {"a": None}).columns.endswith("`row` BOOLEAN")


def test_a_value_is_reached_from_the_row_that_holds_it() -> None:
    found = dataset({"a": {"b c": [{"d": 1}]}, "m": 1}, {"m": {"x": [{"y": 1}]}})

    assert found.resolve(("a", "b c", EACH, "d"))[1] == FieldAccess(path=("d",))
    assert found.resolve(("a", "b c"))[1] == FieldAccess(path=("a", "k0"))
    assert found.resolve(("m", "x"))[1] == FieldAccess(path=("m",), inside=("x",))
    assert found.resolve(("m", "x", EACH, "y"))[1] == FieldAccess(inside=("y",))
    with pytest.raises(KeyError):
        found.resolve(("a", "nothing"))


@given(st.lists(st.text(max_size=4) | st.sampled_from(("a", "A", "k0", "K1")), unique=True, max_size=8))
def test_names_of_fields_differ_for_every_reader_and_are_plain(keys: list[str]) -> None:
    names = field_names(keys)

    assert list(names) == keys
    assert len({name.lower() for name in names.values()}) == len(keys)
    assert all(name.isascii() and name.isidentifier() for name in names.values())


def test_types_are_told_under_raw_keys_to_the_parser() -> None:
    found = dataset({"": 1, "a`b": [1.5]})

    assert [field["name"] for field in spark_json_type(found.root)["fields"]] == ["", "a`b"]
    assert has_renamed_fields(found.root)
    assert not has_renamed_fields(dataset({"a": [{"b": 1}]}).root)
