from __future__ import annotations

import pytest

from penstock.errors import UsageError
from penstock.schema import Schema, Table, export_schema, import_schema, schema_file_name


def loaded() -> Schema:
    schema = Schema("shop")
    schema.update_table(Table(name="orders").with_seen_data())
    return schema


def test_files_are_called_as_dlt_calls_them() -> None:
    assert [schema_file_name("shop", form) for form in ("yaml", "json")] == [
        "shop.schema.yaml",
        "shop.schema.json",
    ]


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_an_exported_file_imports_into_nothing(form: str) -> None:
    stored = import_schema(export_schema(loaded().stored, form), None)  # type: ignore[arg-type]

    assert stored.imported_version_hash == stored.version_hash == loaded().version_hash


def test_a_file_that_did_not_change_leaves_later_changes_alone() -> None:
    text = export_schema(loaded().stored)
    schema = Schema.from_stored(import_schema(text, None))
    schema.update_table(Table(name="more"))

    assert import_schema(text, schema.stored) is schema.stored


def test_a_file_that_changed_replaces_everything_and_remembers_what_it_replaced() -> None:
    schema = Schema.from_stored(import_schema(export_schema(loaded().stored), None))
    schema.update_table(Table(name="more"))
    other = loaded()
    other.update_table(Table(name="other"))

    replaced = import_schema(export_schema(other.stored), schema.stored)

    assert "more" not in replaced.tables
    assert replaced.previous_hashes[0] == schema.version_hash
    assert replaced.imported_version_hash == replaced.version_hash


def test_without_processing_hints_a_file_does_not_say_that_tables_are_loaded() -> None:
    stored = import_schema(export_schema(loaded().stored, remove_processing_hints=True), None)

    assert not stored.tables["orders"].has_seen_data


def test_a_file_of_another_schema_is_refused() -> None:
    with pytest.raises(UsageError, match="holds schema 'shop'"):
        import_schema(export_schema(loaded().stored), Schema("other").stored)
