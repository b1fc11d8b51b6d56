"""Schemas that people keep as files: when the file changed, it replaces what is stored."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, Literal

from penstock.errors import UsageError
from penstock.schema.document import parse_document, schema_document, to_json, to_yaml
from penstock.schema.hashes import MAX_PREVIOUS_HASHES, stamp_version
from penstock.schema.stored_schema import StoredSchema

SchemaFileFormat = Literal["yaml", "json"]
_WRITERS: Final = {"yaml": to_yaml, "json": to_json}


def schema_file_name(name: str, file_format: SchemaFileFormat = "yaml") -> str:
    """Name the file of a schema in an import or export folder, as dlt does.

    >>> schema_file_name("shop")
    'shop.schema.yaml'
    """
    return f"{name}.schema.{file_format}"


def export_schema(
    stored: StoredSchema, file_format: SchemaFileFormat = "yaml", *, remove_processing_hints: bool = False
) -> str:
    """Write the text of a file to export; for one that will be imported again, processing hints go."""
    return _WRITERS[file_format](
        schema_document(stored, remove_defaults=True, remove_processing_hints=remove_processing_hints)
    )


def import_schema(text: str, stored: StoredSchema | None) -> StoredSchema:
    """Take up a file: give `stored` back while the file is the one that was imported last, else the file's.

    What is replaced is remembered as an ancestor. Whoever changes the stored schema later keeps the change,
    until somebody changes the file.
    """
    read = StoredSchema.from_dict(parse_document(text))
    incoming = stamp_version(read, previous=read)
    if stored is None:
        return replace(incoming, imported_version_hash=incoming.version_hash)
    if stored.name != incoming.name:
        raise UsageError(
            f"the file holds schema {incoming.name!r}, not {stored.name!r}",
            hint="import it under its own name, or change the name in the file",
        )
    if incoming.version_hash == stored.imported_version_hash:
        return stored
    history = incoming.previous_hashes
    if stored.version_hash not in (*history, incoming.version_hash):
        history = (stored.version_hash, *history)[:MAX_PREVIOUS_HASHES]
    return replace(incoming, previous_hashes=history, imported_version_hash=incoming.version_hash)
