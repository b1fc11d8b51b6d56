"""Schema files for people: a folder from which changes are imported, and one for exports."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.pipeline.workdir import write_text
from penstock.schema import Schema
from penstock.schema.document import export_schema, import_schema, schema_file_name

if TYPE_CHECKING:
    from penstock.schema import StoredSchema


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaFiles:
    """The import folder and the export folder; each may be None."""

    import_folder: Path | None = None
    export_folder: Path | None = None

    @staticmethod
    def at(import_path: str | Path | None, export_path: str | Path | None) -> SchemaFiles:
        """Return the folders for the paths of a user."""
        return SchemaFiles(
            import_folder=None if import_path is None else Path(import_path).absolute(),
            export_folder=None if export_path is None else Path(export_path).absolute(),
        )

    def with_imported_changes(self, schema: Schema) -> Schema:
        """Return the schema with the changes of its import file since the last import."""
        text = self._import_text(schema.name)
        if text is None:
            return schema
        if schema.is_new:
            return Schema.from_stored(import_schema(text, None))
        before = schema.stored
        stored = import_schema(text, before)
        if stored is before:
            return schema
        imported = schema.clone()
        imported.update(_with_seen_tables(stored, before))
        return imported

    def ensure_import_file(self, schema: Schema) -> Schema:
        """Write an import file for people to edit if none exists; return the schema with its hash.

        The file counts as imported: it changes nothing until a user edits it.
        """
        if self.import_folder is None or self._import_text(schema.name) is not None:
            return schema
        text = export_schema(schema.stored, remove_processing_hints=True)
        write_text(self.import_folder / schema_file_name(schema.name), text)
        updated = schema.clone()
        imported_hash = import_schema(text, None).imported_version_hash
        updated.update(replace(schema.stored, imported_version_hash=imported_hash))
        return updated

    def export(self, schema: Schema) -> None:
        """Write a schema to the export folder, if one is set."""
        if self.export_folder is not None:
            write_text(self.export_folder / schema_file_name(schema.name), export_schema(schema.stored))

    def _import_text(self, name: str) -> str | None:
        if self.import_folder is None:
            return None
        path = self.import_folder / schema_file_name(name)
        return path.read_text(encoding="utf-8") if path.is_file() else None


def _with_seen_tables(stored: StoredSchema, before: StoredSchema) -> StoredSchema:
    """Return the imported schema with the tables marked that have rows: files do not contain this."""
    tables = (before.tables.get(name) for name in stored.tables)
    seen_names = [table.name for table in tables if table is not None and table.has_seen_data]
    return stored.with_tables(stored.tables[name].with_seen_data() for name in seen_names)
