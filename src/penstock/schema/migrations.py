"""Migrations of schema documents from older engine versions."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Final

from penstock.errors import SchemaEngineNoUpgradePath
from penstock.schema.defaults import (
    DEFAULT_NORMALIZERS,
    ID_COLUMN,
    LOADS_DEFINITION,
    PARENT_ID_COLUMN,
    SYSTEM_TABLES,
)
from penstock.schema.frozen_map import thaw
from penstock.schema.table import Table
from penstock.schema.types import TYPE_ALIASES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MigrationStep = Callable[[dict[str, Any]], None]

ENGINE_VERSION: Final = 11
_SEEN_NULL_HINT: Final = "seen-null-first"
_SEPARATOR: Final = "__"
_ROOT_KEY: Final = {"propagation": {"root": {"_dlt_id": "_dlt_root_id"}}}


def migrate_document(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the document as engine 11 would write it; a current document is returned as it is.

    The version hash is not updated, so that a reader finds a changed schema and increments the version.
    """
    engine_version = document.get("engine_version")
    if engine_version == ENGINE_VERSION and not any(_marked_columns(document)):
        return document
    if not isinstance(engine_version, int) or not 1 <= engine_version <= ENGINE_VERSION:
        raise SchemaEngineNoUpgradePath(
            schema=str(document.get("name")), has=engine_version or 0, supports=ENGINE_VERSION
        )
    migrated = deepcopy(dict(document))
    for step in STEPS[engine_version - 1 :]:
        step(migrated)
    _remove_null_only_columns(migrated)
    migrated["engine_version"] = ENGINE_VERSION
    return migrated


def _add_filters(document: dict[str, Any]) -> None:
    document.update(includes=[], excludes=[])


def _add_settings_and_parents(document: dict[str, Any]) -> None:
    hints, preferred = document.pop("hints", {}), document.pop("preferred_types", {})
    document["settings"] = {
        "default_hints": {hint: [f"re:{text}" for text in patterns] for hint, patterns in hints.items()},
        "preferred_types": {f"re:{pattern}": kind for pattern, kind in preferred.items()},
    }
    normalizers = thaw(DEFAULT_NORMALIZERS)
    normalizers["json"]["config"] = thaw(_ROOT_KEY)
    document["normalizers"] = normalizers
    columns_by_table: dict[str, Any] = document.pop("tables")
    document["tables"] = {
        name: {
            **_table_document(Table(name=name, parent=_parent(name, columns_by_table))),
            "columns": columns,
        }
        for name, columns in columns_by_table.items()
    }
    for group in ("excludes", "includes"):
        for pattern in document.pop(group, []):
            _move_filter(document["tables"], group, pattern)


def _parent(name: str, tables: dict[str, Any]) -> str | None:
    """Return the table with the longest name that is a path prefix; the rest may be objects."""
    parent, _, _ = name.rpartition(_SEPARATOR)
    while parent and parent not in tables:
        parent, _, _ = parent.rpartition(_SEPARATOR)
    return parent or None


def _move_filter(tables: dict[str, Any], group: str, pattern: str) -> None:
    root, _, path = pattern.removeprefix("^").partition(_SEPARATOR)
    table = tables.setdefault(root, _table_document(Table(name=root)))
    table.setdefault("filters", {}).setdefault(group, []).append(f"re:^{path}")


def _table_document(table: Table) -> dict[str, Any]:
    return dict(table.with_root_defaults().to_dict())


def _add_version_hash(document: dict[str, Any]) -> None:
    document.setdefault("version_hash", "")


def _replace_system_tables(document: dict[str, Any]) -> None:
    document["tables"].update({name: _table_document(table) for name, table in SYSTEM_TABLES.items()})


def _replace_loads_table(document: dict[str, Any]) -> None:
    document["tables"][LOADS_DEFINITION.name] = _table_document(LOADS_DEFINITION)


def _remove_seals(document: dict[str, Any]) -> None:
    document["settings"].pop("schema_sealed", None)
    for table in document["tables"].values():
        table.pop("table_sealed", None)


def _add_history(document: dict[str, Any]) -> None:
    document["previous_hashes"] = []


def _mark_seen_data(document: dict[str, Any]) -> None:
    for table in document["tables"].values():
        if ID_COLUMN in table["columns"]:
            table.setdefault("x-normalizer", {})["seen-data"] = True


def _rename_key_hints_and_json(document: dict[str, Any]) -> None:
    for name, column in _columns(document):
        foreign = column.pop("foreign_key", False)
        if name == PARENT_ID_COLUMN:
            column["parent_key"] = foreign
        if name == ID_COLUMN:
            column["row_key"] = column.get("unique", False)
        if "data_type" in column:
            column["data_type"] = TYPE_ALIASES.get(column["data_type"], column["data_type"])
    settings = document.get("settings", {})
    preferred = settings.get("preferred_types", {})
    preferred.update({pattern: TYPE_ALIASES.get(kind, kind) for pattern, kind in preferred.items()})
    hints = settings.get("default_hints")
    if hints:
        hints.pop("foreign_key", None)
        hints.update({"row_key": [ID_COLUMN], "parent_key": [PARENT_ID_COLUMN]})
    document["normalizers"].get("json", {}).get("config", {}).pop("generate_dlt_id", None)


def _disable_path_breaking(document: dict[str, Any]) -> None:
    document["normalizers"]["use_break_path_on_normalize"] = False


def _remove_null_only_columns(document: dict[str, Any]) -> None:
    """Remove columns that never had a value; earlier releases of engine 11 stored them."""
    for table, name, column in list(_marked_columns(document)):
        if "data_type" not in column:
            del table["columns"][name]
            continue
        del column["x-normalizer"][_SEEN_NULL_HINT]
        if not column["x-normalizer"]:
            del column["x-normalizer"]


def _columns(document: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for table in document["tables"].values():
        yield from table["columns"].items()


def _marked_columns(document: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], str, dict[str, Any]]]:
    for table in document["tables"].values():
        for name, column in table.get("columns", {}).items():
            if "x-normalizer" in column and column["x-normalizer"].get(_SEEN_NULL_HINT):
                yield table, name, column


STEPS: Final[tuple[MigrationStep, ...]] = (
    _add_filters,
    _add_settings_and_parents,
    _add_version_hash,
    _replace_system_tables,
    _replace_loads_table,
    _remove_seals,
    _add_history,
    _mark_seen_data,
    _rename_key_hints_and_json,
    _disable_path_breaking,
)
"""Step i migrates from engine i + 1 to engine i + 2."""
