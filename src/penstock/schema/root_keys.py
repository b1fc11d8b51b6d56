"""Which nested rows carry the id of their root, and where the schema document says so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from penstock.schema.defaults import ID_COLUMN, ROOT_ID_COLUMN, SYSTEM_PREFIX
from penstock.schema.frozen_map import FrozenMap, thaw

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.schema.stored_schema import StoredSchema
    from penstock.schema.table import Table

_KEYED_STRATEGIES: Final = frozenset((None, "delete-insert", "upsert", "insert-only", "cdc"))
_EMPTY: Final = FrozenMap[Any]()


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
