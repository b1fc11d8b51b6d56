"""The columns of the system tables, as a reader sees them."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from penstock.package.ledger import LOADS, STATES, VERSIONS
from penstock.package.storage import as_json

if TYPE_CHECKING:
    from collections.abc import Mapping

_COLUMNS: dict[str, dict[str, str]] = {
    LOADS: {
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
    VERSIONS: {
        "version": "bigint",
        "engine_version": "bigint",
        "inserted_at": "timestamp",
        "schema_name": "string",
        "version_hash": "string",
        "schema": "string",
    },
    STATES: {
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


def _value(value: Any, kind: str) -> Any:
    if isinstance(value, str) and kind == "timestamp":
        return datetime.fromisoformat(value)
    return as_json(value).decode() if isinstance(value, (dict, list)) else value
