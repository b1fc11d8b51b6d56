"""The content of a dataset in DuckDB or Postgres, as a driver returns it.

The Python of dlt imports it too, so it imports neither tool.
"""

from __future__ import annotations

from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

_COLUMNS = """
    SELECT table_name, column_name, data_type, is_nullable,
        numeric_precision, numeric_scale, datetime_precision
    FROM information_schema.columns WHERE table_schema = '{}' ORDER BY table_name, ordinal_position
"""

Content = dict[str, dict[str, Any]]
"""The columns and the rows of each table."""


def content_of(connection: Any, dataset: str) -> Content:
    """Return the tables of a dataset without system tables; a load id is the number of its load, from 1."""
    cursor = connection.cursor()
    cursor.execute("SET TimeZone = 'UTC'")
    cursor.execute(_COLUMNS.format(dataset))
    tables: Content = {}
    for table, column, kind, is_nullable, *digits in cursor.fetchall():
        definition = [kind, *([] if is_nullable == "YES" else ["not null"])]
        if kind == "numeric":
            definition[0] += str(tuple(digits[:2]))
        if kind.startswith("time") and digits[2] is not None:
            definition[0] += f"({digits[2]})"
        tables.setdefault(table, {"columns": {}})["columns"][column] = " ".join(definition)
    if not tables:
        return {}
    cursor.execute(f'SELECT load_id FROM "{dataset}"."_dlt_loads" ORDER BY load_id')
    numbers = {load_id: number for number, (load_id,) in enumerate(cursor.fetchall(), start=1)}
    own = {table: tables[table] for table in tables if not table.startswith("_dlt")}
    for table, content in own.items():
        content["rows"] = _rows(cursor, dataset, table, content["columns"])
        for row in content["rows"]:
            if "_dlt_load_id" in row:
                row["_dlt_load_id"] = numbers[row["_dlt_load_id"]]
    return own


def _rows(cursor: Any, dataset: str, table: str, columns: dict[str, str]) -> list[dict[str, Any]]:
    # A driver needs a further library for timestamps with a zone.
    selected = (
        f"CAST({quoted} AS VARCHAR)" if kind.upper().startswith("TIMESTAMP") else quoted
        for quoted, kind in ((_quoted(name), kind) for name, kind in columns.items())
    )
    cursor.execute(f'SELECT {", ".join(selected)} FROM "{dataset}".{_quoted(table)}')
    kinds = columns.items()
    return [
        {name: _plain(value, kind) for (name, kind), value in zip(kinds, row, strict=True)}
        for row in cursor.fetchall()
    ]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _plain(value: Any, kind: str) -> Any:
    if isinstance(value, str) and kind.upper().startswith("TIMESTAMP"):
        return datetime.fromisoformat(value).isoformat()
    match value:
        case Decimal():
            return str(value)
        case date() | time():
            return value.isoformat()
        case bytes() | memoryview():
            return bytes(value).hex()
        case _:
            return value
