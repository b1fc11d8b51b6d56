from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import UsageError
from penstock.schema import Schema, Table, export_schema, import_schema, schema_file_name

DLT_SCHEMA: dict[str, Any] = json.loads((Path(__file__).parent / "vectors/dlt_schema.json").read_text())


@pytest.mark.parametrize("form", ["to_pretty_yaml", "to_pretty_json"])
@pytest.mark.parametrize("remove_defaults", [True, False])
def test_a_schema_reads_back_equal_from_its_text(form: str, remove_defaults: bool) -> None:
    schema = Schema.from_dict(DLT_SCHEMA)

    text = getattr(schema, form)(remove_defaults=remove_defaults)

    assert Schema.from_text(text).to_dict() == DLT_SCHEMA


def test_without_defaults_no_name_is_repeated() -> None:
    text = Schema.from_dict(DLT_SCHEMA).to_pretty_yaml()

    assert "\n  orders:\n" in text
    assert " name: orders\n" not in text


def test_a_document_without_processing_hints_is_another_version() -> None:
    schema = Schema.from_dict(DLT_SCHEMA)

    bare = schema.to_dict(remove_processing_hints=True)

    assert not any("x-normalizer" in table for table in bare["tables"].values())
    assert bare["version"] == DLT_SCHEMA["version"] + 1
    assert schema.to_dict() == DLT_SCHEMA


@pytest.mark.parametrize("text", ["", "{", "a: [", "- 1", "{}", "name: x"])
def test_a_text_that_is_not_a_schema_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a schema document"):
        Schema.from_text(text)


def loaded() -> Schema:
    schema = Schema("shop")
    schema.update_table(Table(name="orders").with_seen_data())
    return schema


def test_schema_files_have_the_same_names_as_in_dlt() -> None:
    assert [schema_file_name("shop", form) for form in ("yaml", "json")] == [
        "shop.schema.yaml",
        "shop.schema.json",
    ]


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_an_exported_file_can_be_imported_without_a_stored_schema(form: str) -> None:
    stored = import_schema(export_schema(loaded().stored, form), None)  # type: ignore[arg-type]

    assert stored.imported_version_hash == stored.version_hash == loaded().version_hash


def test_an_unchanged_file_does_not_replace_later_changes() -> None:
    text = export_schema(loaded().stored)
    schema = Schema.from_stored(import_schema(text, None))
    schema.update_table(Table(name="more"))

    assert import_schema(text, schema.stored) is schema.stored


def test_a_changed_file_replaces_the_schema_and_extends_its_history() -> None:
    schema = Schema.from_stored(import_schema(export_schema(loaded().stored), None))
    schema.update_table(Table(name="more"))
    other = loaded()
    other.update_table(Table(name="other"))

    replaced = import_schema(export_schema(other.stored), schema.stored)

    assert "more" not in replaced.tables
    assert replaced.previous_hashes[0] == schema.version_hash
    assert replaced.imported_version_hash == replaced.version_hash


def test_a_file_without_processing_hints_does_not_mark_tables_as_loaded() -> None:
    stored = import_schema(export_schema(loaded().stored, remove_processing_hints=True), None)

    assert not stored.tables["orders"].has_seen_data


def test_a_file_of_another_schema_is_refused() -> None:
    with pytest.raises(UsageError, match="has schema 'shop'"):
        import_schema(export_schema(loaded().stored), Schema("other").stored)
