"""The column types of SQLite, and its values.

SQLite converts values by the name of a type, and knows only integers, floats, texts and bytes. So the
name of a type ends with the kind of its values, and begins with what Python reads.
"""

import sqlite3
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

from penstock.interfaces import DataTypeMapper, TLoaderFileFormat
from penstock.schema import DataType, TColumnSchema, TTableSchema

TYPES: dict[DataType, str] = {
    "text": "TEXT",
    "bigint": "INTEGER",
    "double": "REAL",
    "binary": "BLOB",
    "bool": "BOOL_INT",
    "decimal": "DECIMAL_TEXT",
    "wei": "DECIMAL_TEXT",
    "timestamp": "TIMESTAMP_TEXT",
    "date": "DATE_TEXT",
    "time": "TEXT",
    "json": "TEXT",
}

sqlite3.register_converter("BOOL_INT", lambda value: value != b"0")
sqlite3.register_converter("DECIMAL_TEXT", lambda value: Decimal(value.decode()))
sqlite3.register_converter("TIMESTAMP_TEXT", lambda value: datetime.fromisoformat(value.decode()))
sqlite3.register_converter("DATE_TEXT", lambda value: date.fromisoformat(value.decode()))


def sqlite_value(value: Any) -> Any:
    """Return a value as SQLite stores it. Texts of timestamps are in their order."""
    match value:
        case datetime(tzinfo=None):
            return value.isoformat(timespec="microseconds")
        case datetime():
            return value.astimezone(UTC).isoformat(timespec="microseconds")
        case date() | time():
            return value.isoformat()
        case Decimal():
            return format(value, "f")
        case _:
            return value


class SqliteTypes(DataTypeMapper):
    """The type of each column, and the column of each type."""

    def to_destination_type(self, column: TColumnSchema, table: TTableSchema) -> str:
        return TYPES[column["data_type"]]

    def from_destination_type(self, db_type: str, precision: int | None, scale: int | None) -> TColumnSchema:
        return {"data_type": next((name for name, known in TYPES.items() if known == db_type), "text")}

    def ensure_supported_type(
        self, column: TColumnSchema, table: TTableSchema, loader_file_format: TLoaderFileFormat
    ) -> None:
        """Every type is supported."""
