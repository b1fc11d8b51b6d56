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

RowIdType = Literal["place", "key_hash", "row_hash"]

_ROOT_COLUMNS: Final[Mapping[str, DataType]] = {LOAD_ID_COLUMN: "text", ID_COLUMN: "text"}
_NESTED_COLUMNS: Final[Mapping[str, DataType]] = {
    PARENT_ID_COLUMN: "text",
    LIST_INDEX_COLUMN: "bigint",
    ID_COLUMN: "text",
}
_KEY_HASH_STRATEGIES: Final = frozenset(("upsert", "insert-only", "cdc"))
_KEYED_STRATEGIES: Final = frozenset((None, "delete-insert", "upsert", "insert-only", "cdc"))
_EMPTY: Final = FrozenMap[Any]()


def system_columns(
    patterns: NamePatterns, *, is_root: bool, inherited: Mapping[str, DataType]
) -> tuple[Column, ...]:
    """Give the columns in the order in which dlt adds them; `inherited` come down from rows above."""
    own = _ROOT_COLUMNS if is_root else _NESTED_COLUMNS
    return tuple(patterns.infer_column(name, kind) for name, kind in {**inherited, **own}.items())


def row_id_type(table: Table, default_strategy: str | None = None) -> RowIdType:
    """Say it of a root table, by the hints that dlt goes by.

    `default_strategy` is that of the destination, for tables that are merged and do not say how.

    Rows that are merged by their key have an id of that key, so that a row keeps its id from load to load.
    Rows with a history have one of all that they hold, so that a changed row has another.
    """
    if table.write_disposition != "merge" or table.is_nested:
        return "place"
    strategy = table.extras.get("x-merge-strategy") or default_strategy
    if strategy in _KEY_HASH_STRATEGIES and table.columns_with("primary_key"):
        return "key_hash"
    versions = table.columns_with("x-row-version")
    return "row_hash" if strategy == "scd2" and versions[:1] == (ID_COLUMN,) else "place"


def root_table(name: str, tables: Mapping[str, Table]) -> Table:
    """Give the table at the top of the chain, which is the table itself when it is not nested."""
    table = tables[name]
    while table.parent is not None:
        table = tables[table.parent]
    return table


def propagated_columns(stored: StoredSchema, table: str, *, is_root: bool) -> Mapping[str, str]:
    """Say which columns of this table's rows go down into the rows below, and what they are called there."""
    propagation = _json_config(stored).get("propagation") or _EMPTY
    from_roots = propagation.get("root") or _EMPTY if is_root else _EMPTY
    own = (propagation.get("tables") or _EMPTY).get(table, _EMPTY)
    return FrozenMap({**from_roots, **own})


def with_root_key(stored: StoredSchema, name: str) -> StoredSchema:
    """Note in the document that rows below the root of `name` carry its id, where it is needed.

    That is so to merge chains of tables, when the schema asks for it, and once a nested table has it.
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
    asked: bool | None = _json_config(stored).get("root_key_propagation")
    if asked is not None:
        return asked and not root.name.startswith(SYSTEM_PREFIX)
    return root.write_disposition == "merge" and root.extras.get("x-merge-strategy") in _KEYED_STRATEGIES


def _json_config(stored: StoredSchema) -> Mapping[str, Any]:
    config: Mapping[str, Any] = stored.normalizers.get("json", _EMPTY).get("config") or _EMPTY
    return config
