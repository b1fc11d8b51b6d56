"""Columns that penstock fills itself: row ids, the load id, and links to the parent and the root row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

from penstock.schema.defaults import (
    ID_COLUMN,
    LIST_INDEX_COLUMN,
    LOAD_ID_COLUMN,
    PARENT_ID_COLUMN,
    ROOT_ID_COLUMN,
    SYSTEM_PREFIX,
)
from penstock.schema.frozen_map import FrozenMap, thaw

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.schema.column import Column
    from penstock.schema.patterns import NamePatterns
    from penstock.schema.stored_schema import StoredSchema
    from penstock.schema.table import Table
    from penstock.schema.types import DataType

RowIdType = Literal["position", "key_hash", "row_hash"]

_ROOT_COLUMNS: Final[Mapping[str, DataType]] = {LOAD_ID_COLUMN: "text", ID_COLUMN: "text"}
_NESTED_COLUMNS: Final[Mapping[str, DataType]] = {
    PARENT_ID_COLUMN: "text",
    LIST_INDEX_COLUMN: "bigint",
    ID_COLUMN: "text",
}
_KEY_HASH_STRATEGIES: Final = frozenset(("upsert", "insert-only", "cdc"))
_ROOT_KEY_STRATEGIES: Final = frozenset((None, "delete-insert", "upsert", "insert-only", "cdc"))
_EMPTY: Final = FrozenMap[Any]()


def system_columns(
    patterns: NamePatterns, *, is_root: bool, inherited: Mapping[str, DataType]
) -> tuple[Column, ...]:
    """Return the system columns in dlt's order; `inherited` ones are propagated from parent rows."""
    types = {**inherited, **(_ROOT_COLUMNS if is_root else _NESTED_COLUMNS)}
    return tuple(patterns.infer_column(name, data_type) for name, data_type in types.items())


def row_id_type(table: Table, default_strategy: str | None = None) -> RowIdType:
    """Return what the ids of a root table's rows are made of, by the hints that dlt uses.

    Rows that are merged by key have a hash of the key, which is the same in every load. Rows with history
    have a hash of all values, which differs for a changed row. All others have a hash of their position.
    `default_strategy` is the destination's, for merged tables without one.
    """
    if table.write_disposition != "merge" or table.is_nested:
        return "position"
    strategy = table.extras.get("x-merge-strategy") or default_strategy
    if strategy in _KEY_HASH_STRATEGIES and table.columns_with("primary_key"):
        return "key_hash"
    versions = table.columns_with("x-row-version")
    return "row_hash" if strategy == "scd2" and versions[:1] == (ID_COLUMN,) else "position"


def root_table(name: str, tables: Mapping[str, Table]) -> Table:
    """Return the root of a table, which is the table itself if it is not nested."""
    table = tables[name]
    while table.parent is not None:
        table = tables[table.parent]
    return table


def propagated_columns(stored: StoredSchema, table: str, *, is_root: bool) -> Mapping[str, str]:
    """Return the columns that rows propagate to nested rows, with their names there."""
    propagation = _json_config(stored).get("propagation") or _EMPTY
    from_roots = propagation.get("root") or _EMPTY if is_root else _EMPTY
    from_table = (propagation.get("tables") or _EMPTY).get(table, _EMPTY)
    return FrozenMap({**from_roots, **from_table})


def with_root_key(stored: StoredSchema, name: str) -> StoredSchema:
    """Return the schema in which the root of a table propagates its row id to nested rows, if needed.

    It is needed to merge nested tables, if the schema is configured so, and if a nested table already has it.
    """
    root = root_table(name, stored.tables)
    if not _needs_root_key(stored, root, stored.tables[name]):
        return stored
    source = next(iter(root.columns_with("row_key")), ID_COLUMN)
    if propagated_columns(stored, root.name, is_root=False).get(source) == ROOT_ID_COLUMN:
        return stored
    json = thaw(stored.normalizers.get("json", {}))
    config = json.setdefault("config", {})
    tables = config.setdefault("propagation", {}).setdefault("tables", {})
    tables.setdefault(root.name, {})[source] = ROOT_ID_COLUMN
    return stored.with_normalizers(json=json)


def _needs_root_key(stored: StoredSchema, root: Table, table: Table) -> bool:
    if table.is_nested and table.columns_with("root_key"):
        return True
    configured: bool | None = _json_config(stored).get("root_key_propagation")
    if configured is not None:
        return configured and not root.name.startswith(SYSTEM_PREFIX)
    return root.write_disposition == "merge" and root.extras.get("x-merge-strategy") in _ROOT_KEY_STRATEGIES


def _json_config(stored: StoredSchema) -> Mapping[str, Any]:
    config: Mapping[str, Any] = stored.normalizers.get("json", _EMPTY).get("config") or _EMPTY
    return config
