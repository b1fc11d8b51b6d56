"""Schemas as files that people read and change: one folder to take them from, one to write them to."""

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
    """The two folders; each may be missing."""

    import_folder: Path | None = None
    export_folder: Path | None = None

    @staticmethod
    def at(import_path: str | Path | None, export_path: str | Path | None) -> SchemaFiles:
        """The folders that a user named."""
        return SchemaFiles(
            import_folder=None if import_path is None else Path(import_path).absolute(),
            export_folder=None if export_path is None else Path(export_path).absolute(),
        )

    def with_imported_changes(self, schema: Schema) -> Schema:
        """The schema that a file has, where that was changed since it was taken last; else as it is."""
        text = self._import_text(schema.name)
        if text is None:
            return schema
        if schema.is_new:
            return Schema.from_stored(import_schema(text, None))
        before = schema.stored
        stored = import_schema(text, before)
        if stored is before:
            return schema
        taken = schema.clone()
        taken.update(_with_seen_tables(stored, before))
        return taken

    def ensure_import_file(self, schema: Schema) -> Schema:
        """The schema, after a file was written that people can change; only where there is none.

        The file counts as taken: it replaces nothing until somebody changes it.
        """
        if self.import_folder is None or self._import_text(schema.name) is not None:
            return schema
        text = export_schema(schema.stored, remove_processing_hints=True)
        write_text(self.import_folder / schema_file_name(schema.name), text)
        offered = schema.clone()
        taken = import_schema(text, None).imported_version_hash
        offered.update(replace(schema.stored, imported_version_hash=taken))
        return offered

    def export(self, schema: Schema) -> None:
        """Write a schema for people to read."""
        if self.export_folder is not None:
            write_text(self.export_folder / schema_file_name(schema.name), export_schema(schema.stored))

    def _import_text(self, name: str) -> str | None:
        if self.import_folder is None:
            return None
        path = self.import_folder / schema_file_name(name)
        return path.read_text(encoding="utf-8") if path.is_file() else None


def _with_seen_tables(stored: StoredSchema, before: StoredSchema) -> StoredSchema:
    """A file does not say which tables have rows, and they have them all the same."""
    known = (before.tables.get(name) for name in stored.tables)
    seen = [table.name for table in known if table is not None and table.has_seen_data]
    return stored.with_tables(stored.tables[name].with_seen_data() for name in seen)
