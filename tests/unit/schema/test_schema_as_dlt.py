"""The schema as programs for dlt read it; the expected results were recorded with dlt 1.31."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from penstock.errors import UsageError
from penstock.schema import Column, Schema, Table
from penstock.schema.frozen_map import thaw

if TYPE_CHECKING:
    from collections.abc import Callable

VECTORS = Path(__file__).parent / "vectors"
DLT_SCHEMA: dict[str, Any] = json.loads((VECTORS / "dlt_schema.json").read_text())
METHOD_CALLS: list[dict[str, Any]] = json.loads((VECTORS / "schema_methods.json").read_text())


def shop() -> Schema:
    return Schema.from_dict(DLT_SCHEMA)


def call_names(recorded: dict[str, Any]) -> str:
    return ", ".join(f"{name}{tuple(args)}"[:60] for name, *args in recorded["calls"])


def comparable(result: Any) -> Any:
    """Return references in one order, with the cardinality that a declared one has by default.

    Those between system tables are left out: dlt writes them in the other direction.
    """
    if not isinstance(result, list) or not result or "referenced_table" not in result[0]:
        return result
    references = [{"cardinality": "many_to_one"} | row for row in result]
    system_tables = {"_dlt_loads", "_dlt_version"}
    return sorted(
        json.dumps(row, sort_keys=True)
        for row in references
        if not {row["table"], row["referenced_table"]} <= system_tables
    )


@pytest.mark.parametrize("recorded", METHOD_CALLS, ids=call_names)
def test_methods_return_the_results_of_dlt(recorded: dict[str, Any]) -> None:
    schema, result = shop(), None

    for name, *args in recorded["calls"]:
        member = getattr(schema, name)
        result = member(*copy.deepcopy(args)) if callable(member) else member

    assert comparable(thaw(result)) == comparable(recorded["result"])


def test_a_table_reads_as_its_document() -> None:
    table = shop().tables["orders"]
    document = DLT_SCHEMA["tables"]["orders"]

    assert table == document
    assert table["columns"]["id"] == document["columns"]["id"]
    assert table.to_dict() == document
    assert set(table) == set(document)
    assert table["columns"]["id"].get("data_type") == "bigint"
    assert table.get("table_format") is None
    assert "table_format" not in table
    assert {column["name"] for column in table["columns"].values()} == set(document["columns"])
    assert shop().get_table("orders")["columns"]["id"]["nullable"] is document["columns"]["id"]["nullable"]


def test_a_key_that_the_document_lacks_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        shop().tables["orders"]["nonsense"]
    with pytest.raises(KeyError):
        shop().tables["orders"]["columns"]["id"]["precision"]


def test_records_equal_records_and_documents_with_the_same_items_only() -> None:
    column = Column(name="id", data_type="bigint", hints={"x-mine": {"a": 1}})

    assert column == {"name": "id", "data_type": "bigint", "x-mine": {"a": 1}}
    assert column != {"name": "id", "data_type": "bigint"}
    assert column != Column(name="id", data_type="bigint")
    assert column != "id"
    assert Table(name="t", columns={"id": column}) == {"name": "t", "columns": {"id": dict(column)}}
    assert len({column, Column(name="id", data_type="bigint", hints={"x-mine": {"a": 1}})}) == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda tables: tables["orders"]["columns"]["id"].__setitem__("nullable", False),
        lambda tables: tables["orders"]["columns"].__setitem__("new", {}),
        lambda tables: tables["orders"].update({"write_disposition": "merge"}),
        lambda tables: tables["orders"].setdefault("x-mine", 1),
        lambda tables: tables["orders"]["columns"].pop("id"),
        lambda tables: tables.__delitem__("orders"),
    ],
)
def test_a_change_of_a_table_in_place_is_refused_and_names_update_table(
    change: Callable[[Any], object],
) -> None:
    schema = shop()
    before = schema.version_hash

    with pytest.raises(UsageError, match=r"schema\.update_table.*resource\.apply_hints"):
        change(schema.tables)

    assert schema.version_hash == before


def test_a_copy_of_a_table_can_be_changed_and_merged_into_the_schema() -> None:
    schema = shop()
    document = cast("Any", schema.tables["orders"].to_dict())
    document["columns"]["id"]["nullable"] = False

    schema.update_table(document)

    assert schema.tables["orders"]["columns"]["id"]["nullable"] is False


def test_processing_hints_are_left_out_on_request() -> None:
    assert "x-normalizer" in shop().tables["orders"]
    for schema in (
        Schema.from_dict(DLT_SCHEMA, remove_processing_hints=True),
        shop().clone(remove_processing_hints=True),
    ):
        assert "x-normalizer" not in schema.tables["orders"]


def test_an_edited_document_read_without_a_new_version_is_modified() -> None:
    edited = copy.deepcopy(DLT_SCHEMA)
    edited["tables"]["orders"]["columns"]["extra"] = {"name": "extra", "data_type": "text"}

    schema = Schema.from_dict(edited, bump_version=False)

    assert (schema.version, schema.stored_version, schema.is_modified) == (3, 2, True)
    assert schema.to_dict(bump_version=False)["version"] == 2
    assert schema.to_dict()["version"] == 3


def test_update_schema_merges_tables_and_settings() -> None:
    schema, other = Schema("a"), Schema("b", normalizers={"names": "direct"})
    schema.update_table({"name": "orders", "columns": {"id": {"data_type": "bigint", "primary_key": True}}})
    other.update_table(
        {"name": "orders", "write_disposition": "merge", "columns": {"y": {"data_type": "text"}}}
    )
    other.update_table({"name": "More", "columns": {"q": {"data_type": "date"}}})
    other.set_schema_contract("freeze")
    other.merge_hints({"not_null": ["zz"]})
    other.update_preferred_types({"q": "date"})
    other.add_type_detection("timestamp")

    schema.update_schema(other)

    assert (schema.name, schema.data_table_names()) == ("a", ["orders", "More"])
    assert list(schema.tables["orders"]["columns"]) == ["id", "y"]
    assert schema.tables["orders"]["write_disposition"] == "merge"
    assert schema.settings["schema_contract"] == "freeze"
    assert schema.settings["preferred_types"] == {"q": "date"}
    assert schema.settings["detections"] == ("iso_timestamp", "timestamp")
    assert schema.settings["default_hints"]["not_null"][-1] == "zz"
    assert (schema.naming.name, other.naming.name) == ("snake_case", "direct")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda schema: schema.add_type_detection("nonsense"), "no type detection 'nonsense'"),
        (lambda schema: schema.merge_hints({"not_null": "abc"}), "one text: 'abc'"),
        (lambda schema: schema.update_preferred_types({"a": "nonsense"}), "nonsense"),
        (lambda schema: schema.normalize_data_item({}, "1.1", "orders"), "orders cannot be normalized"),
    ],
)
def test_wrong_settings_and_single_rows_are_refused(call: Callable[[Any], object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        call(shop())
