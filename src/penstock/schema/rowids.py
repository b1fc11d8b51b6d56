"""What the id of a root row is made of: its place, its key, or all of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from penstock.schema.defaults import ID_COLUMN

if TYPE_CHECKING:
    from penstock.schema.table import Table

RowIdType = Literal["place", "key_hash", "row_hash"]
_KEY_HASH_STRATEGIES: Final = frozenset(("upsert", "insert-only", "cdc"))


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
