"""The steps from engine 1 to engine 7: documents from before contracts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from penstock.schema.defaults import DEFAULT_NORMALIZERS, LOADS_DEFINITION, SYSTEM_TABLES
from penstock.schema.frozen_map import thaw
from penstock.schema.table import Table

MigrationStep = Callable[[dict[str, Any]], None]

_SEPARATOR: Final = "__"
_ROOT_KEY: Final = {"propagation": {"root": {"_dlt_id": "_dlt_root_id"}}}


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
    old: dict[str, Any] = document.pop("tables")
    document["tables"] = {
        name: {**_table_document(Table(name=name, parent=_parent(name, old))), "columns": columns}
        for name, columns in old.items()
    }
    for group in ("excludes", "includes"):
        for pattern in document.pop(group, []):
            _move_filter(document["tables"], group, pattern)


def _parent(name: str, tables: dict[str, Any]) -> str | None:
    """The longest name above this one that is a table; fragments in between may be objects."""
    above, _, _ = name.rpartition(_SEPARATOR)
    while above and above not in tables:
        above, _, _ = above.rpartition(_SEPARATOR)
    return above or None


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


EARLY_STEPS: Final[tuple[MigrationStep, ...]] = (
    _add_filters,
    _add_settings_and_parents,
    _add_version_hash,
    _replace_system_tables,
    _replace_loads_table,
    _remove_seals,
)
"""The step at index i leads from engine i + 1 to the next."""
