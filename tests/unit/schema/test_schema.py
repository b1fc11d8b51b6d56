from __future__ import annotations

import copy
import importlib
import json
import pickle
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from penstock.errors import InvalidSchemaName, SchemaEngineNoUpgradePath, TableNotFound, UsageError
from penstock.schema import Column, Schema, StoredSchema, Table, content_hash, decide, gather
from penstock.schema.migrations import migrate_document

VECTORS = Path(__file__).parent / "vectors"
DLT_SCHEMA: dict[str, Any] = json.loads((VECTORS / "dlt_schema.json").read_text())
MIGRATIONS: list[dict[str, Any]] = json.loads((VECTORS / "migrations.json").read_text())

ORDERS = Table(name="orders", columns={"id": Column(name="id", data_type="bigint")})


def test_an_empty_schema_has_the_same_hash_as_in_dlt() -> None:
    schema = Schema("t")

    assert schema.version_hash == "YCEkYFzvcvW/1dMp0syqherphhRhqhMDVIcAaWD1/GE="
    assert (schema.version, schema.previous_hashes) == (1, ())
    assert (schema.is_new, schema.is_modified) == (True, True)


def test_a_schema_that_dlt_wrote_reads_back_as_written() -> None:
    schema = Schema.from_dict(copy.deepcopy(DLT_SCHEMA))

    assert schema.to_dict() == DLT_SCHEMA
    assert content_hash(schema.stored) == DLT_SCHEMA["version_hash"]
    assert (schema.is_new, schema.is_modified) == (False, False)
    assert schema.name == "shop"


def test_reading_does_not_change_the_document() -> None:
    old = copy.deepcopy(MIGRATIONS[0]["old"])

    Schema.from_dict(old)

    assert old == MIGRATIONS[0]["old"]


def test_the_hash_depends_on_the_order_of_columns_and_not_of_tables() -> None:
    columns = {name: Column(name=name, data_type="text") for name in "ab"}
    backwards = dict(reversed(columns.items()))
    base = StoredSchema(name="t")

    def hash_of(*tables: Table) -> str:
        return content_hash(base.with_tables(tables))

    assert hash_of(Table(name="x", columns=columns)) != hash_of(Table(name="x", columns=backwards))
    assert hash_of(Table(name="x"), Table(name="y")) == hash_of(Table(name="y"), Table(name="x"))


def test_many_changes_before_saving_are_one_version() -> None:
    schema = Schema("t")
    schema.update_table(ORDERS)
    first = schema.version_hash
    schema.mark_saved()

    schema.update_table(Table(name="a"))
    schema.update_table(Table(name="b"))

    assert (schema.version, schema.previous_hashes) == (2, (first,))
    schema.drop_tables(["a", "b"])
    assert (schema.version, schema.version_hash, schema.previous_hashes) == (1, first, ())


def test_history_keeps_ten_hashes_the_latest_first_and_none_twice() -> None:
    schema = Schema("t")
    hashes: list[str] = []
    for number in range(13):
        hashes.insert(0, schema.version_hash)
        schema.mark_saved()
        schema.update_table(Table(name=f"t{number}"))

    assert schema.version == 14
    assert schema.previous_hashes == tuple(hashes[:10])
    stored = cast("dict[str, Any]", schema.to_dict()) | {"previous_hashes": ["x", schema.version_hash]}
    again = Schema.from_dict(stored)
    again.update_table(Table(name="more"))
    assert again.previous_hashes == ("x", schema.version_hash)


def test_a_manually_edited_document_is_a_new_version() -> None:
    edited = copy.deepcopy(DLT_SCHEMA)
    edited["tables"]["orders"]["columns"]["extra"] = {"data_type": "text"}

    schema = Schema.from_dict(edited)

    assert schema.version == DLT_SCHEMA["version"] + 1
    assert schema.previous_hashes[0] == DLT_SCHEMA["version_hash"]
    assert not schema.is_modified


@pytest.mark.parametrize("case", MIGRATIONS, ids=lambda case: f"engine {case['old']['engine_version']}")
def test_older_documents_are_migrated_as_in_dlt(case: dict[str, Any]) -> None:
    assert migrate_document(case["old"]) == case["new"]

    schema = Schema.from_dict(case["old"])

    assert schema.stored.engine_version == 11
    assert schema.version == case["old"]["version"] + 1
    assert schema.stored.normalizers["use_break_path_on_normalize"] is False


def test_columns_that_never_had_a_value_are_removed() -> None:
    document = copy.deepcopy(DLT_SCHEMA)
    columns = document["tables"]["orders"]["columns"]
    mark = {"x-normalizer": {"seen-null-first": True}}
    columns["ghost"] = {"name": "ghost", "nullable": True, **mark}
    columns["id"] |= mark

    read = Schema.from_dict(document).get_table("orders").columns

    assert "ghost" not in read
    assert "x-normalizer" not in read["id"].hints


@pytest.mark.parametrize("engine", [None, 0, -1, 12, 99])
def test_a_document_of_an_unknown_engine_version_is_refused(engine: int | None) -> None:
    with pytest.raises(SchemaEngineNoUpgradePath):
        Schema.from_dict({**DLT_SCHEMA, "engine_version": engine})


def test_missing_system_tables_are_added() -> None:
    document = copy.deepcopy(DLT_SCHEMA)
    del document["tables"]["_dlt_loads"]

    assert "_dlt_loads" in Schema.from_dict(document).tables


def test_only_root_tables_get_a_resource_and_a_disposition() -> None:
    schema = Schema("t")

    root = schema.update_table({"name": "orders", "columns": {"id": {"data_type": "bigint"}}})
    nested = schema.update_table(Table(name="orders__items", parent="orders"))

    assert (root.resource, root.write_disposition) == ("orders", "append")
    assert (nested.resource, nested.write_disposition) == (None, None)


def test_update_table_merges_and_returns_the_table() -> None:
    schema = Schema("t")
    schema.update_table(ORDERS)

    merged = schema.update_table(Table(name="orders", columns={"at": Column(name="at", data_type="date")}))

    assert list(merged.columns) == ["id", "at"]
    assert schema.get_table("orders") == merged


def test_earlier_stored_values_do_not_change() -> None:
    schema = Schema("t")
    before, twin = schema.stored, schema.clone()

    schema.update_table(ORDERS)

    assert "orders" not in before.tables
    assert "orders" not in twin.tables
    assert before.version_hash != schema.version_hash


def test_a_clone_with_another_name_has_no_history() -> None:
    schema = Schema.from_dict(DLT_SCHEMA)

    same, other = schema.clone(), schema.clone(with_name="other")

    assert same.to_dict() == schema.to_dict()
    assert (other.name, other.version, other.previous_hashes, other.is_new) == ("other", 1, (), True)
    assert other.tables == schema.tables


def test_data_tables_leave_out_system_tables_and_tables_without_types() -> None:
    schema = Schema.from_dict(DLT_SCHEMA)
    schema.update_table(Table(name="waiting", columns={"x": Column(name="x")}))
    schema.update_table(ORDERS.with_name("fresh"))

    def names(**which: bool) -> list[str]:
        return [table.name for table in schema.data_tables(**which)]

    loaded = ["orders", "orders__items", "orders__items__tags"]
    assert names() == [*loaded, "fresh"]
    assert names(include_incomplete=True) == [*loaded, "waiting", "fresh"]
    assert names(seen_data_only=True) == loaded


def test_unknown_tables_are_named_in_the_error() -> None:
    schema = Schema("t")

    with pytest.raises(TableNotFound):
        schema.get_table("orders")
    with pytest.raises(TableNotFound):
        schema.drop_tables(["orders"])
    with pytest.raises(TableNotFound):
        schema.update_table(Table(name="orders__items", parent="orders"))


def test_the_convention_is_the_one_that_the_document_names() -> None:
    schema = Schema("t")
    assert schema.naming.name == "snake_case"
    assert "use_break_path_on_normalize" not in schema.stored.normalizers

    schema.update(schema.stored.with_normalizers(names="sql_cs_v1").with_settings(schema_contract="freeze"))

    assert schema.naming.name == "sql_cs_v1"
    assert schema.to_dict()["settings"]["schema_contract"] == "freeze"


@pytest.mark.parametrize("name", ["a", "a" * 64, "é", "_x", "CamelCase", "class"])
def test_identifiers_can_be_schema_names(name: str) -> None:
    assert Schema(name).name == name


@pytest.mark.parametrize("name", ["", "a" * 65, "A b", "1a", "a-b", "a.b"])
def test_other_texts_cannot_be_schema_names(name: str) -> None:
    with pytest.raises(InvalidSchemaName):
        Schema(name)
    with pytest.raises(InvalidSchemaName):
        Schema.from_dict({**DLT_SCHEMA, "name": name})


def test_a_schema_survives_pickling() -> None:
    schema = Schema.from_dict(DLT_SCHEMA)

    again = pickle.loads(pickle.dumps(schema))

    assert again.to_dict() == DLT_SCHEMA
    assert again.stored == schema.stored
    assert repr(again) == "Schema('shop', version=2, tables=6)"


def test_restore_replaces_content_and_history() -> None:
    schema = Schema("shop")

    schema.restore(StoredSchema.from_dict(DLT_SCHEMA))

    assert schema.to_dict() == DLT_SCHEMA
    assert not schema.is_new


CONVENTION = """
from pathlib import Path
from penstock.schema import naming

Path(__file__).with_suffix(".ran").touch()

class NamingConvention(naming.SnakeCase):
    def clean(self, identifier):
        return super().clean(identifier).upper()
"""


def test_a_stored_schema_does_not_import_the_module_that_it_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "loud_convention.py").write_text(CONVENTION, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    document = {**copy.deepcopy(DLT_SCHEMA), "normalizers": {"names": "loud_convention"}}
    schema = Schema.from_dict(document)

    with pytest.raises(UsageError, match="loud_convention") as refused:
        _ = schema.naming
    with pytest.raises(UsageError, match="loud_convention"):
        decide(schema.stored, "orders", gather([{"id": 1}]))

    assert "import loud_convention" in refused.value.hint
    assert not (tmp_path / "loud_convention.ran").exists()

    # A module that the user's program has imported is the user's choice.
    monkeypatch.setitem(sys.modules, "loud_convention", importlib.import_module("loud_convention"))
    assert schema.naming.normalize_identifier("oneName") == "ONE_NAME"
