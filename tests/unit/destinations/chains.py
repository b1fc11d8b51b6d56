"""Declarations of the tables of a chain, for tests."""

from __future__ import annotations

from typing import Any

from penstock.schema import Schema, Table

SEEN = {"x-normalizer": {"seen-data": True}}
TEXT = {"data_type": "text"}


def root_table(
    *,
    primary_key: tuple[str, ...] = ("id",),
    merge_key: tuple[str, ...] = (),
    strategy: str | None = None,
    disposition: str = "merge",
    hints: dict[str, dict[str, Any]] | None = None,
    **extras: Any,
) -> Table:
    columns: dict[str, dict[str, Any]] = {
        "id": {"data_type": "bigint"},
        "day": {"data_type": "date"},
        "name": dict(TEXT),
        "at": {"data_type": "bigint"},
        "deleted": {"data_type": "bool"},
        "_dlt_load_id": dict(TEXT),
        "_dlt_id": {**TEXT, "row_key": True, "unique": True},
    }
    if strategy == "scd2":
        moment = {"data_type": "timestamp", "nullable": True}
        columns["_dlt_valid_from"] = {**moment, "x-valid-from": True}
        columns["_dlt_valid_to"] = {**moment, "x-valid-to": True}
        columns["_dlt_id"] = {**TEXT, "x-row-version": True}
    for hint, names in (("primary_key", primary_key), ("merge_key", merge_key)):
        for name in names:
            columns[name][hint] = True
    for name, column_hints in (hints or {}).items():
        columns[name] |= column_hints
    strategy_hint = {"x-merge-strategy": strategy} if strategy else {}
    return Table.from_dict(
        {
            "name": "items",
            "resource": "items",
            "write_disposition": disposition,
            "columns": columns,
            **SEEN,
            **strategy_hint,
            **extras,
        }
    )


def nested_table(name: str, *, root_key: bool = True, has_seen_data: bool = True) -> Table:
    columns: dict[str, dict[str, Any]] = {
        "value": dict(TEXT),
        "_dlt_parent_id": {**TEXT, "parent_key": True},
        "_dlt_list_idx": {"data_type": "bigint"},
        "_dlt_id": {**TEXT, "row_key": True},
    }
    if root_key:
        columns["_dlt_root_id"] = {**TEXT, "root_key": True}
    parent = name.rpartition("__")[0]
    return Table.from_dict(
        {"name": name, "parent": parent, "columns": columns, **(SEEN if has_seen_data else {})}
    )


def schema_of(*tables: Table) -> Schema:
    schema = Schema("shop")
    for table in tables:
        schema.update_table(table)
    return schema
