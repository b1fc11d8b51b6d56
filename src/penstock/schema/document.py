"""Schema documents as YAML or JSON text, and the files of import and export folders."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal, cast

import orjson
import yaml

from penstock.errors import UsageError
from penstock.schema.defaults import SYSTEM_PREFIX
from penstock.schema.stored_schema import MAX_PREVIOUS_HASHES, StoredSchema, stamp_version

if TYPE_CHECKING:
    from penstock.schema.stored_schema import TStoredSchema

SchemaFileFormat = Literal["yaml", "json"]

PROCESSING_HINTS: Final = ("x-normalizer", "x-loader", "x-extractor")
"""Hints that extract, normalize and load store for themselves; they do not describe the tables."""

# The C implementation, where PyYAML has it, is ten times as fast and writes the same text.
_DUMPER: Final = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_HINT: Final = "give the text of a schema that was exported as YAML or JSON"


def schema_document(
    stored: StoredSchema, *, remove_defaults: bool = False, remove_processing_hints: bool = False
) -> TStoredSchema:
    """Return the document; without defaults, names are not repeated below the keys that have them.

    Without processing hints the content differs, and so does the version.
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
    """Return a copy without processing hints."""
    return stored.with_tables(
        table.without_extras(*PROCESSING_HINTS).with_columns(
            column.without_hints(*PROCESSING_HINTS)
            for column in table.columns.values()
            if any(hint in column.hints for hint in PROCESSING_HINTS)
        )
        for table in stored.tables.values()
    )


def to_json(document: TStoredSchema) -> str:
    """Return a document as JSON, indented by two blanks."""
    return orjson.dumps(document, option=orjson.OPT_INDENT_2).decode()


def to_yaml(document: TStoredSchema) -> str:
    """Return a document as YAML, in the order of its keys."""
    return cast(
        "str",
        yaml.dump(document, Dumper=_DUMPER, allow_unicode=True, default_flow_style=False, sort_keys=False),
    )


def with_data_tables_first(document: TStoredSchema) -> TStoredSchema:
    """Return a document with its system tables at the end, for people.

    >>> document = {"name": "shop", "tables": {"_dlt_loads": {}, "orders": {}, "_dlt_version": {}}}
    >>> [*with_data_tables_first(document)["tables"]]
    ['orders', '_dlt_loads', '_dlt_version']
    """
    names = sorted(document["tables"], key=lambda name: name.startswith(SYSTEM_PREFIX))
    return {**document, "tables": {name: document["tables"][name] for name in names}}


def _parse_yaml(text: str) -> Any:
    """Parse YAML with the safe loader, by its own method: the general function takes any loader."""
    loader = _LOADER(text)
    try:
        return loader.get_single_data()
    finally:
        loader.dispose()


def parse_document(text: str) -> dict[str, Any]:
    """Parse a schema document from JSON or YAML; raise `UsageError` if the text is not one."""
    try:
        document = orjson.loads(text) if text.lstrip().startswith("{") else _parse_yaml(text)
    except (orjson.JSONDecodeError, yaml.YAMLError) as error:
        raise UsageError(f"the text is not a schema document: {error}", hint=_HINT) from error
    if not isinstance(document, dict) or not {"name", "tables", "engine_version"} <= document.keys():
        raise UsageError(
            "the text is not a schema document: it lacks name, tables or engine_version", hint=_HINT
        )
    return document


def schema_file_name(name: str, file_format: SchemaFileFormat = "yaml") -> str:
    """Return the name of a schema's file in an import or export folder, the same as dlt's.

    >>> schema_file_name("shop")
    'shop.schema.yaml'
    """
    return f"{name}.schema.{file_format}"


def export_schema(
    stored: StoredSchema, file_format: SchemaFileFormat = "yaml", *, remove_processing_hints: bool = False
) -> str:
    """Return the text of a file to export; a file that will be imported again has no processing hints."""
    write = to_yaml if file_format == "yaml" else to_json
    return write(
        schema_document(stored, remove_defaults=True, remove_processing_hints=remove_processing_hints)
    )


def import_schema(text: str, stored: StoredSchema | None) -> StoredSchema:
    """Return the schema of a file if the file has changed since its last import, else `stored`.

    So later changes of the stored schema are kept until the file changes. The replaced version is added to
    the history.
    """
    parsed = StoredSchema.from_dict(parse_document(text))
    incoming = stamp_version(parsed, previous=parsed)
    if stored is None:
        return replace(incoming, imported_version_hash=incoming.version_hash)
    if stored.name != incoming.name:
        raise UsageError(
            f"the file has schema {incoming.name!r}, not {stored.name!r}",
            hint="import it under its own name, or change the name in the file",
        )
    if incoming.version_hash == stored.imported_version_hash:
        return stored
    history = incoming.previous_hashes
    if stored.version_hash not in (*history, incoming.version_hash):
        history = (stored.version_hash, *history)[:MAX_PREVIOUS_HASHES]
    return replace(incoming, previous_hashes=history, imported_version_hash=incoming.version_hash)
