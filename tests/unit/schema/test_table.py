from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import TablePropertiesConflictException, UsageError
from penstock.schema.column import COLUMN_HINTS, Column
from penstock.schema.frozen_map import FrozenMap, freeze, thaw
from penstock.schema.table import Table
from penstock.schema.types import DATA_TYPES

DLT_SCHEMA: dict[str, Any] = json.loads((Path(__file__).parent / "vectors/dlt_schema.json").read_text())

documents = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
column_documents = st.fixed_dictionaries(
    {"name": st.sampled_from(("a", "b", "c", "d"))},
    optional={
        "data_type": st.sampled_from(DATA_TYPES),
        "nullable": st.booleans() | st.none(),
        "precision": st.integers(1, 40) | st.none(),
        "scale": st.integers(0, 9),
        "timezone": st.booleans(),
        "x-mine": documents,
        "description": st.text(max_size=5),
        **{hint: st.booleans() for hint in sorted(COLUMN_HINTS)},
    },
)
table_documents = st.builds(
    lambda columns, rest: {"name": "t", "columns": {column["name"]: column for column in columns}, **rest},
    st.lists(column_documents, max_size=5),
    st.fixed_dictionaries(
        {},
        optional={
            "resource": st.just("r"),
            "write_disposition": st.sampled_from(("append", "merge")) | st.none(),
            "x-mine": documents,
            "schema_contract": documents,
        },
    ),
)


@given(document=column_documents)
def test_a_column_document_reads_back_as_written(document: dict[str, Any]) -> None:
    column = Column.from_dict(document)

    assert column.to_dict() == document
    assert Column.from_dict(dict(reversed(document.items()))) == column


@given(document=table_documents)
def test_a_table_document_reads_back_as_written(document: dict[str, Any]) -> None:
    table = Table.from_dict(document)

    assert table.to_dict() == document
    assert list(table.columns) == list(document["columns"])


@given(document=table_documents)
def test_a_table_can_be_hashed_pickled_and_copied(document: dict[str, Any]) -> None:
    table = Table.from_dict(document)

    again = pickle.loads(pickle.dumps(table))

    assert again == table == copy.deepcopy(table)
    assert hash(again) == hash(table)
    assert list(again.columns) == list(table.columns)


@pytest.mark.parametrize("name", DLT_SCHEMA["tables"])
def test_tables_that_dlt_wrote_read_back_as_written(name: str) -> None:
    assert Table.from_dict(DLT_SCHEMA["tables"][name]).to_dict() == DLT_SCHEMA["tables"][name]


@given(old=table_documents, new=table_documents)
def test_merging_a_table_is_idempotent(old: dict[str, Any], new: dict[str, Any]) -> None:
    once = Table.from_dict(old).merged(Table.from_dict(new))

    twice = once.merged(Table.from_dict(new))

    assert twice == once
    assert list(twice.columns) == list(once.columns)


@given(old=table_documents, new=table_documents)
def test_merging_never_changes_a_known_type_or_loses_a_column(
    old: dict[str, Any], new: dict[str, Any]
) -> None:
    before, incoming = Table.from_dict(old), Table.from_dict(new)

    after = before.merged(incoming)

    assert set(after.columns) == set(before.columns) | set(incoming.columns)
    for column in before.complete_columns():
        merged = after.columns[column.name]
        assert (merged.data_type, merged.precision, merged.scale, merged.timezone) == (
            (column.data_type, column.precision, column.scale, column.timezone)
        )


def _table(**columns: dict[str, Any]) -> Table:
    return Table.from_dict({"name": "t", "columns": columns})


def test_new_columns_and_columns_that_get_a_type_come_last() -> None:
    old = _table(x={}, y={"data_type": "text"})
    new = _table(z={"data_type": "text"}, x={"data_type": "date"})

    assert list(old.merged(new).columns) == ["y", "z", "x"]


def test_new_hints_override_old_ones() -> None:
    old = _table(x={"data_type": "text", "nullable": True, "x-a": {"p": 1}, "unique": True})
    new = _table(x={"nullable": False, "x-a": {"q": 2}})

    assert old.merged(new).columns["x"].to_dict() == {
        "name": "x", "data_type": "text", "nullable": False, "x-a": {"q": 2}, "unique": True,
    }  # fmt: skip


def test_declared_key_columns_replace_the_old_set() -> None:
    old = _table(x={"data_type": "text", "primary_key": True, "unique": True}, z={"cluster": True})
    new = _table(y={"primary_key": True, "unique": True})

    assert old.merged(new).columns_with("primary_key") == ("x", "y")
    declared = old.with_hints_of(new)
    assert declared.columns_with("primary_key") == ("y",)
    assert declared.columns_with("unique") == ("x", "y")
    assert declared.columns_with("cluster") == ("z",)


def test_a_table_with_another_parent_is_refused() -> None:
    child = Table(name="t__c", parent="t")

    with pytest.raises(TablePropertiesConflictException, match="parent of table 't__c' is 't'"):
        child.merged(Table(name="t__c", parent="u"))


def test_copies_do_not_change_the_original() -> None:
    table = _table(x={"data_type": "text"}, y={"data_type": "text"})

    changed = (
        table.with_columns([Column(name="z"), table.columns["x"].with_hints(primary_key=True)])
        .without_columns("y")
        .with_name("u")
        .with_seen_data()
        .with_extras(description="d")
    )

    assert changed.to_dict() == {
        "name": "u",
        "columns": {"x": {"name": "x", "data_type": "text", "primary_key": True}, "z": {"name": "z"}},
        "x-normalizer": {"seen-data": True},
        "description": "d",
    }
    assert table == _table(x={"data_type": "text"}, y={"data_type": "text"})
    assert changed.has_seen_data
    assert not table.has_seen_data


def test_the_caller_may_change_the_result_of_to_dict() -> None:
    column = Column.from_dict({"name": "x", "x-mine": {"deep": [1, 2]}})

    cast("Any", column.to_dict())["x-mine"]["deep"].append(3)

    assert cast("Any", column.to_dict())["x-mine"] == {"deep": [1, 2]}


def test_a_column_keeps_unset_fields_and_has_defaults_for_them() -> None:
    silent, spoken = Column(name="x"), Column.from_dict({"name": "x", "nullable": False, "unique": False})

    assert (silent.nullable, silent.is_nullable, silent.is_complete) == (None, True, False)
    assert (spoken.is_nullable, spoken.has("unique")) == (False, False)
    assert spoken.without_hints("unique").to_dict() == {"name": "x", "nullable": False}
    assert spoken.with_name("y").name == "y"


def test_a_set_facet_replaces_an_explicit_none() -> None:
    column = Column.from_dict({"name": "x", "data_type": "decimal", "precision": None})

    assert column.with_hints(precision=10).to_dict() == {"name": "x", "data_type": "decimal", "precision": 10}


def test_the_key_of_a_document_is_its_name() -> None:
    table = Table.from_dict({"name": "other", "columns": {"x": {"name": "y"}, "z": {}}}, name="t")

    assert table.name == "t"
    assert [column.name for column in table.columns.values()] == ["x", "z"]


@given(document=documents)
def test_thaw_reverses_freeze(document: Any) -> None:
    frozen = freeze(document)

    assert thaw(frozen) == document
    assert hash(frozen) == hash(pickle.loads(pickle.dumps(frozen)))


def test_a_frozen_map_compares_as_a_dict_and_is_immutable() -> None:
    frozen = FrozenMap({"a": 1, "b": 2})

    assert frozen == {"b": 2, "a": 1}
    assert frozen != [("a", 1)]
    assert frozen.with_items({"c": 3}).without_keys("a") == {"b": 2, "c": 3}
    with pytest.raises(UsageError, match="read-only"):
        cast("Any", frozen)["a"] = 2
