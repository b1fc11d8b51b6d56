"""The system tables as a reader sees them: their columns, and which of their rows count."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from penstock.package.file_ledger import LOADS_TABLE, STATE_TABLE, VERSION_TABLE
from penstock.package.storage import as_json

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

_COLUMNS: dict[str, dict[str, str]] = {
    LOADS_TABLE: {
        "load_id": "string",
        "schema_name": "string",
        "status": "bigint",
        "inserted_at": "timestamp",
        "schema_version_hash": "string",
        "pipeline_name": "string",
        "sequence": "bigint",
        "manifest_hash": "string",
        "tables": "string",
    },
    VERSION_TABLE: {
        "version": "bigint",
        "engine_version": "bigint",
        "inserted_at": "timestamp",
        "schema_name": "string",
        "version_hash": "string",
        "schema": "string",
    },
    STATE_TABLE: {
        "version": "bigint",
        "engine_version": "bigint",
        "pipeline_name": "string",
        "state": "string",
        "created_at": "timestamp",
        "version_hash": "string",
        "_dlt_load_id": "string",
    },
}

SYSTEM_SCHEMAS = {
    table: ", ".join(f"{name} {kind}" for name, kind in columns.items())
    for table, columns in _COLUMNS.items()
}


def system_row(table: str, document: Mapping[str, Any]) -> tuple[Any, ...]:
    """A row in the order of the columns; what the writer did not know is null."""
    return tuple(_value(document.get(name), kind) for name, kind in _COLUMNS[table].items())


def visible_rows(
    table: str,
    rows: Iterable[Mapping[str, Any]],
    loads: Iterable[Mapping[str, Any]],
    load_ids: Collection[str],
) -> list[Mapping[str, Any]]:
    """The rows that belong to these loads; states and schemas are stored before their load is complete."""
    if table == VERSION_TABLE:
        counted = {load.get("schema_version_hash") for load in loads if load.get("load_id") in load_ids}
        return [row for row in rows if row.get("version_hash") in counted]
    column = "load_id" if table == LOADS_TABLE else "_dlt_load_id"
    return [row for row in rows if row.get(column) in load_ids]


def _value(value: Any, kind: str) -> Any:
    if isinstance(value, str) and kind == "timestamp":
        return datetime.fromisoformat(value)
    return as_json(value).decode() if isinstance(value, (dict, list)) else value
