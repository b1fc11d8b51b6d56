"""Schema documents as text that people read, edit and keep in version control."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal, cast

import orjson
import yaml

from penstock.errors import UsageError
from penstock.schema.stored_schema import MAX_PREVIOUS_HASHES, StoredSchema, stamp_version

if TYPE_CHECKING:
    from penstock.schema.stored_schema import TStoredSchema

SchemaFileFormat = Literal["yaml", "json"]

PROCESSING_HINTS: Final = ("x-normalizer", "x-loader", "x-extractor")
"""What the stages note down for themselves; it says nothing about what the tables are."""

# The one written in C is ten times as fast, where PyYAML was built with it; the text is the same.
_DUMPER: Final = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_HINT: Final = "give the text of a schema that was exported as YAML or JSON"


def schema_document(
    stored: StoredSchema, *, remove_defaults: bool = False, remove_processing_hints: bool = False
) -> TStoredSchema:
    """Write the document; without defaults, the names that stand as keys already are not repeated.

    Without processing hints it has another content, and so another version.
    """
    if remove_processing_hints:
        stored = stamp_version(without_processing_hints(stored), previous=stored)
    document = stored.to_dict()
    if remove_defaults:
        document.pop("imported_version_hash", None)
        for table in document["tables"].values():
            table.pop("name", None)
            for column in table["columns"].values():
                column.pop("name", None)
    return document


def without_processing_hints(stored: StoredSchema) -> StoredSchema:
    """Copy without what normalize and load noted down."""
    return stored.with_tables(
        table.without_extras(*PROCESSING_HINTS).with_columns(
            column.without_hints(*PROCESSING_HINTS)
            for column in table.columns.values()
            if any(hint in column.hints for hint in PROCESSING_HINTS)
        )
        for table in stored.tables.values()
    )


def to_json(document: TStoredSchema) -> str:
    """Write JSON with two blanks a level."""
    return orjson.dumps(document, option=orjson.OPT_INDENT_2).decode()


def to_yaml(document: TStoredSchema) -> str:
    """Write YAML in the order of the document."""
    return cast(
        "str",
        yaml.dump(document, Dumper=_DUMPER, allow_unicode=True, default_flow_style=False, sort_keys=False),
    )


def _parse_yaml(text: str) -> Any:
    """Read with the safe loader only, by its own method: the general one takes any loader."""
    loader = _LOADER(text)
    try:
        return loader.get_single_data()
    finally:
        loader.dispose()


def parse_document(text: str) -> dict[str, Any]:
    """Read a schema document from JSON or YAML."""
    try:
        document = orjson.loads(text) if text.lstrip().startswith("{") else _parse_yaml(text)
    except (orjson.JSONDecodeError, yaml.YAMLError) as error:
        raise UsageError(f"the text is no schema document: {error}", hint=_HINT) from error
    if not isinstance(document, dict) or not {"name", "tables", "engine_version"} <= document.keys():
        raise UsageError(
            "the text is no schema document: it lacks name, tables or engine_version", hint=_HINT
        )
    return document


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
    write = to_yaml if file_format == "yaml" else to_json
    return write(
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
