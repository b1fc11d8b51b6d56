"""Schema files are imported, created and exported."""

from __future__ import annotations

from typing import TYPE_CHECKING

import penstock
from penstock.pipeline.schema_files import SchemaFiles
from penstock.schema import Schema, Table

if TYPE_CHECKING:
    from pathlib import Path


def loaded() -> Schema:
    schema = Schema("shop")
    schema.update_table(Table(name="orders").with_seen_data())
    schema.mark_saved()
    return schema


def test_without_folders_nothing_is_imported_or_written(tmp_path: Path) -> None:
    files, schema = SchemaFiles(), loaded()

    files.export(schema)

    assert files.with_imported_changes(schema) is schema
    assert files.ensure_import_file(schema) is schema
    assert list(tmp_path.iterdir()) == []


def test_a_new_schema_is_imported_from_its_file(tmp_path: Path) -> None:
    files = SchemaFiles.at(tmp_path, tmp_path)
    files.export(loaded())

    imported = files.with_imported_changes(Schema("shop"))

    assert "orders" in imported.tables
    assert imported.stored.imported_version_hash == loaded().version_hash


def test_a_written_import_file_changes_nothing_until_it_is_edited(tmp_path: Path) -> None:
    files = SchemaFiles.at(tmp_path, None)

    offered = files.ensure_import_file(loaded())
    offered.mark_saved()
    offered.update_table(Table(name="more"))

    assert offered.stored.imported_version_hash is not None
    assert "seen-data" not in (tmp_path / "shop.schema.yaml").read_text(encoding="utf-8")
    assert files.with_imported_changes(offered) is offered
    assert files.ensure_import_file(offered) is offered


def test_an_edited_file_replaces_the_schema_and_tables_with_rows_remain_marked(
    tmp_path: Path,
) -> None:
    files = SchemaFiles.at(tmp_path, None)
    before = files.ensure_import_file(loaded())
    before.mark_saved()
    path = tmp_path / "shop.schema.yaml"
    text = path.read_text(encoding="utf-8").replace("orders:", "sales:\n    columns: {}\n  orders:")
    path.write_text(text, encoding="utf-8")

    after = files.with_imported_changes(before)

    assert "sales" in after.tables
    assert after.tables["orders"].has_seen_data
    assert not after.tables["sales"].has_seen_data
    assert after.version == before.version + 1
    assert after.previous_hashes == (before.version_hash,)


def test_a_pipeline_has_the_schema_of_a_file_before_its_first_run(tmp_path: Path) -> None:
    SchemaFiles.at(None, tmp_path / "schemas").export(loaded())

    pipeline = penstock.pipeline("shop", tmp_path, import_schema_path=tmp_path / "schemas")

    assert "orders" in pipeline.default_schema.tables
    assert (pipeline.first_run, pipeline.has_data) == (True, False)
