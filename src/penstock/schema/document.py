"""Schema documents as text that people read, edit and keep in version control."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

import orjson
import yaml

from penstock.errors import UsageError
from penstock.schema.hashes import stamp_version

if TYPE_CHECKING:
    from penstock.schema.stored_schema import StoredSchema, TStoredSchema

PROCESSING_HINTS: Final = ("x-normalizer", "x-loader", "x-extractor")
"""What the stages note down for themselves; it says nothing about what the tables are."""

# The one written in C is ten times as fast, where PyYAML was built with it; the text is the same.
_DUMPER: Final = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


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


_HINT: Final = "give the text of a schema that was exported as YAML or JSON"
