"""Which nested rows carry the id of their root, and where the schema document says so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from penstock.schema.defaults import ID_COLUMN, ROOT_ID_COLUMN, SYSTEM_PREFIX
from penstock.schema.frozen import FrozenMap, thaw

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.schema.stored import StoredSchema
    from penstock.schema.table import Table

_KEYED_STRATEGIES: Final = frozenset((None, "delete-insert", "upsert", "insert-only", "cdc"))
_NOTHING: Final = FrozenMap[Any]()


def root_of(name: str, tables: Mapping[str, Table]) -> Table:
    """Give the table at the top of the chain, which is the table itself when it is not nested."""
    table = tables[name]
    while table.parent is not None:
        table = tables[table.parent]
    return table


def propagated(stored: StoredSchema, table: str, *, is_root: bool) -> Mapping[str, str]:
    """Say which columns of this table's rows go down into the rows below, and what they are called there."""
    propagation = _config(stored).get("propagation") or _NOTHING
    from_roots = propagation.get("root") or _NOTHING if is_root else _NOTHING
    own = (propagation.get("tables") or _NOTHING).get(table, _NOTHING)
    return FrozenMap({**from_roots, **own})


def with_root_key(stored: StoredSchema, name: str) -> StoredSchema:
    """Note in the document that rows below the root of `name` carry its id, where it is needed.

    That is so to merge chains of tables, when the schema asks for it, and once a nested table has it.
    """
    root = root_of(name, stored.tables)
    if not _needs_root_key(stored, root, stored.tables[name]):
        return stored
    source = next(iter(root.columns_with("row_key")), ID_COLUMN)
    if propagated(stored, root.name, is_root=False).get(source) == ROOT_ID_COLUMN:
        return stored
    json = thaw(stored.normalizers.get("json", {}))
    config = json.setdefault("config", {})
    tables = config.setdefault("propagation", {}).setdefault("tables", {})
    tables.setdefault(root.name, {})[source] = ROOT_ID_COLUMN
    return stored.with_normalizers(json=json)


def _needs_root_key(stored: StoredSchema, root: Table, table: Table) -> bool:
    if table.is_nested and table.columns_with("root_key"):
        return True
    asked: bool | None = _config(stored).get("root_key_propagation")
    if asked is not None:
        return asked and not root.name.startswith(SYSTEM_PREFIX)
    return root.write_disposition == "merge" and root.extras.get("x-merge-strategy") in _KEYED_STRATEGIES


def _config(stored: StoredSchema) -> Mapping[str, Any]:
    config: Mapping[str, Any] = stored.normalizers.get("json", _NOTHING).get("config") or _NOTHING
    return config
