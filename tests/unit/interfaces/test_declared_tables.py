from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.interfaces.declared_tables import declared_tables
from penstock.interfaces.hints import make_hints
from penstock.schema import Schema, Table, naming_convention

NAMES = naming_convention()


def tables(resource: str = "orders", /, **said: Any) -> dict[str, Table]:
    found = declared_tables(make_hints(**said), resource=resource, naming=NAMES)
    return {table.name: table for table in found}


def test_a_table_is_called_like_its_resource_unless_it_is_named() -> None:
    assert list(tables("My Orders")) == ["my_orders"]
    assert tables("My Orders")["my_orders"].resource == "My Orders"
    assert list(tables(table_name="All Orders")) == ["all_orders"]


def test_a_key_makes_columns_that_must_have_a_value() -> None:
    table = tables(primary_key=["Id", "part"], merge_key="day", columns={"part": {"data_type": "text"}})[
        "orders"
    ]

    assert table.columns_with("primary_key") == ("part", "id")
    assert table.columns_with("merge_key") == ("day",)
    assert [column.nullable for column in table.columns.values()] == [False, False, False]


def test_an_explicitly_nullable_key_column_is_kept_nullable() -> None:
    table = tables(primary_key="id", columns={"id": {"nullable": True}})["orders"]

    assert table.columns["id"].nullable is True


def test_a_nested_table_hangs_from_the_tables_above_it() -> None:
    found = tables(nested_hints={("Items", "parts"): {"columns": [{"name": "no", "data_type": "bigint"}]}})

    assert {name: table.parent for name, table in found.items()} == {
        "orders": None,
        "orders__items": "orders",
        "orders__items__parts": "orders__items",
    }


@pytest.mark.parametrize("key", ["primary_key", "merge_key"])
def test_a_nested_table_with_a_key_of_its_own_is_a_root(key: str) -> None:
    found = tables(nested_hints={("items", "parts"): {key: "no"}})

    assert list(found) == ["orders", "orders__items__parts"]
    parts = found["orders__items__parts"]
    assert (parts.parent, parts.resource, parts.write_disposition) == (None, "orders", "append")


def test_history_has_columns_for_its_time() -> None:
    options = {"disposition": "merge", "strategy": "scd2", "active_record_timestamp": "9999-12-31"}

    table = tables(write_disposition=options)["orders"]

    assert list(table.columns) == ["_dlt_valid_from", "_dlt_valid_to", "_dlt_id"]
    assert table.columns["_dlt_valid_to"].hints["x-active-record-timestamp"] == "9999-12-31"
    assert table.columns["_dlt_id"].hints == {"x-row-version": True, "unique": False, "row_key": False}
    assert table.extras["x-merge-strategy"] == "scd2"


def test_options_of_a_merge_are_remembered_only_by_a_merge() -> None:
    merge = {"disposition": "merge", "strategy": "upsert", "source_filter": "a > 1"}

    assert tables(write_disposition=merge)["orders"].extras["x-merge-source-filter"] == "a > 1"
    replace = tables(write_disposition={"disposition": "replace", "strategy": "upsert"})["orders"]
    assert (replace.write_disposition, dict(replace.extras)) == ("replace", {})


keys = st.text(alphabet="aBc _", min_size=1, max_size=6).filter(str.strip)


@given(
    columns=st.dictionaries(keys, st.fixed_dictionaries({"data_type": st.sampled_from(["text", "bigint"])})),
    path=st.lists(keys, min_size=1, max_size=3),
)
def test_whatever_is_declared_can_be_put_into_a_schema(columns: dict[str, Any], path: list[str]) -> None:
    hints = make_hints(columns=columns, nested_hints={tuple(path): {"columns": columns}})
    schema = Schema("shop")

    for table in declared_tables(hints, resource="orders", naming=NAMES):
        schema.update_table(table)

    assert "orders" in schema.tables
    assert all(NAMES.normalize_path(name) == name for table in schema.data_tables() for name in table.columns)
