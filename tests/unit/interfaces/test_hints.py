from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from penstock.errors import InconsistentTableTemplate, UsageError
from penstock.interfaces.hints import NO_HINTS, TableHints, make_hints


class Order(BaseModel):
    id: int
    note: str | None = None


said = st.fixed_dictionaries(
    {},
    optional={
        "table_name": st.sampled_from(["a", "b", ""]),
        "write_disposition": st.sampled_from(["append", "merge", {"disposition": "replace"}]),
        "primary_key": st.sampled_from(["id", ["id", "part"], "", []]),
        "columns": st.dictionaries(st.sampled_from("xyz"), st.just({"data_type": "text"}), max_size=3),
        "table_format": st.sampled_from(["delta", "iceberg"]),
    },
)


def test_hints_without_arguments_are_unset() -> None:
    assert NO_HINTS.to_dict() == {}
    assert make_hints() == NO_HINTS
    assert NO_HINTS.disposition is None


@pytest.mark.parametrize(
    "columns",
    [{"id": {"data_type": "text"}}, [{"name": "id", "data_type": "text"}]],
    ids=["by name", "in a list"],
)
def test_columns_in_all_forms_are_keyed_by_name(columns: Any) -> None:
    assert make_hints(columns=columns).columns == {"id": {"name": "id", "data_type": "text"}}


def test_a_model_sets_columns_and_the_contract() -> None:
    hints = make_hints(columns=Order)

    assert hints.columns["id"] == {"name": "id", "data_type": "bigint", "nullable": False}
    assert hints.schema_contract == {"tables": "evolve", "columns": "discard_value", "data_type": "freeze"}
    assert make_hints(columns=Order, schema_contract="evolve").schema_contract == "evolve"


def test_hints_are_immutable_copies() -> None:
    columns = {"id": {"data_type": "text"}}

    hints = make_hints(columns=columns)
    columns["id"]["data_type"] = "bigint"

    assert hints.columns["id"]["data_type"] == "text"
    with pytest.raises(UsageError, match="read-only"):
        hints.columns["id"]["data_type"] = "bool"


@given(said)
def test_saying_the_same_again_changes_nothing(words: dict[str, Any]) -> None:
    once = NO_HINTS.merged_with(make_hints(**words))

    assert once.merged_with(make_hints(**words)) == once


@given(said, said)
def test_later_hints_win_and_none_keeps_a_hint(first: dict[str, Any], later: dict[str, Any]) -> None:
    merged = NO_HINTS.merged_with(make_hints(**first)).merged_with(make_hints(**later))

    for name in ("table_name", "write_disposition", "primary_key", "table_format"):
        expected = later.get(name, first.get(name)) or None
        assert getattr(merged, name) == (tuple(expected) if isinstance(expected, list) else expected)


def test_columns_are_added_to_existing_ones() -> None:
    hints = make_hints(columns={"id": {"data_type": "text"}})

    merged = hints.merged_with(make_hints(columns={"id": {"nullable": False}, "at": {"data_type": "date"}}))

    assert merged.columns == {
        "id": {"name": "id", "data_type": "text", "nullable": False},
        "at": {"name": "at", "data_type": "date"},
    }
    assert merged.merged_with(make_hints(columns=[])).columns is None


def test_additional_table_hints_are_added_and_each_is_replaced_whole() -> None:
    first = make_hints(additional_table_hints={"x-owner": "ada", "x-parts": {"day": "a"}})

    merged = first.merged_with(make_hints(additional_table_hints={"x-parts": {"id": "b"}}))

    assert merged.additional_table_hints == {"x-owner": "ada", "x-parts": {"id": "b"}}


def test_an_empty_disposition_is_unset() -> None:
    assert make_hints(write_disposition="replace").merged_with(
        make_hints(write_disposition="")
    ).disposition == ("replace")


def test_functions_are_called_with_the_item() -> None:
    hints = make_hints(table_name=lambda item: item["kind"], primary_key=lambda item: [item["key"]])

    found = hints.for_item({"kind": "users", "key": "id"})

    assert hints.dynamic_names == ("table_name", "primary_key")
    assert (found.table_name, found.primary_key, found.dynamic_names) == ("users", ("id",), ())
    assert hints.disposition is None


def test_a_hint_function_needs_a_table_name_function() -> None:
    with pytest.raises(InconsistentTableTemplate):
        make_hints(write_disposition=lambda _: "append")
    with pytest.raises(InconsistentTableTemplate):
        make_hints(table_name="t").merged_with(make_hints(table_name="t", primary_key=None)).merged_with(
            TableHints(columns=lambda _: {})
        )


def test_nested_hints_are_keyed_by_path() -> None:
    hints = make_hints(nested_hints={"a": {"primary_key": "id"}, ("a", "b"): make_hints(merge_key="x")})

    assert {path: found.to_dict() for path, found in hints.nested_hints.items()} == {
        ("a",): {"primary_key": "id"},
        ("a", "b"): {"merge_key": "x"},
    }


@pytest.mark.parametrize(
    "words",
    [
        {"write_disposition": "upsert"},
        {"write_disposition": {"strategy": "upsert"}},
        {"write_disposition": {"disposition": "merge", "strategy": "sideways"}},
        {"columns": 7},
        {"columns": "id"},
        {"columns": [{"data_type": "text"}]},
        {"schema_contract": "sometimes"},
        {"schema_contract": {"rows": "freeze"}},
        {"colour": "red"},
    ],
)
def test_an_unknown_hint_is_an_error(words: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        make_hints(**words)
