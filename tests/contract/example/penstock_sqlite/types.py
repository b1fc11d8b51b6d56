"""The types and values of SQLite."""

from __future__ import annotations

from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

_TYPES = {"bigint": "INTEGER", "bool": "INTEGER", "double": "REAL", "binary": "BLOB"}


def sqlite_type(data_type: str | None) -> str:
    return _TYPES.get(data_type or "", "TEXT")


def sqlite_value(value: Any) -> Any:
    match value:
        case datetime() | date() | time():
            return value.isoformat()
        case Decimal():
            return str(value)
        case bytearray():
            return bytes(value)
        case _:
            return value
