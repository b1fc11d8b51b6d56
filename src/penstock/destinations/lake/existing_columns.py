"""Columns of tables that other programs wrote, as columns of a schema and as types of Arrow."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from penstock.errors import UsageError
from penstock.schema.spark_types import NESTED_TYPE_HINT, column_from_spark, spark_type, spark_type_from_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from penstock.schema import Column

_INTEGER_BITS: Final = {"byte": 8, "short": 16, "integer": 32}
_DECIMAL: Final = re.compile(r"decimal\((\d+),(\d+)\)")
_TYPES: Final[Mapping[str, pa.DataType]] = {
    "boolean": pa.bool_(),
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}


def existing_columns(
    table: str, fields: Iterable[Mapping[str, Any]], partitions: Iterable[str]
) -> dict[str, Column]:
    """Return the columns of a table, as Spark writes them in JSON, for a schema.

    Raise `UsageError` for a type that loads cannot write.
    """
    columns = [_existing_column(table, field) for field in fields]
    partitioned = frozenset(partitions)
    return {
        column.name: column.with_hints(partition=True) if column.name in partitioned else column
        for column in columns
    }


def _existing_column(table: str, field: Mapping[str, Any]) -> Column:
    kind = field["type"]
    sql_type = spark_type_from_json(kind)
    column = column_from_spark(field["name"], sql_type.lower(), nullable=field["nullable"])
    if isinstance(kind, dict):
        column = column.with_hints(**{NESTED_TYPE_HINT: json.dumps(kind, separators=(",", ":"))})
    elif kind in _INTEGER_BITS:
        column = replace(column, precision=_INTEGER_BITS[kind])
    if (written := spark_type(column)) != sql_type:
        raise UsageError(
            f"column {column.name} of table {table} has type {sql_type}, and loads write {written}",
            hint=f"change the type of the column to {written}, or copy the table to a new one",
            table=table,
            column=column.name,
        )
    return column


def boundary_schema(table: str, fields: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> pa.Schema:
    """Return the Arrow types of columns of the last rows; raise `UsageError` for types of several values."""
    by_name = {field["name"]: field for field in fields}
    schema = arrow_schema({"fields": [by_name[column] for column in columns]})
    if schema is None:
        raise UsageError(
            f"table {table} has columns of several values, so its last rows cannot be compared with new ones",
            hint="name the primary key: it identifies these rows",
            table=table,
        )
    return schema


def check_cursor_values(table: str, column: str, *, null_count: int, has_nan: bool) -> None:
    """Raise `UsageError` for values that a cursor cannot pass."""
    problem = f"nulls ({null_count:,})" if null_count else "NaN" if has_nan else None
    if problem is not None:
        raise UsageError(
            f"column {column} of table {table} has {problem}, so it cannot be a cursor",
            hint="use a column that every row has a value in, or fill the missing values first",
            table=table,
            column=column,
        )


def arrow_schema(struct: Mapping[str, Any]) -> pa.Schema | None:
    """Return the Arrow types of columns as Spark writes them in JSON; None for a type of several values.

    >>> columns = [{"name": "id", "type": "long"}, {"name": "price", "type": "decimal(9,2)"}]
    >>> arrow_schema({"fields": columns}).types
    [DataType(int64), Decimal128Type(decimal128(9, 2))]
    """
    fields = [(column["name"], _arrow_type(column["type"])) for column in struct["fields"]]
    if any(kind is None for _, kind in fields):
        return None
    return pa.schema(fields)


def _arrow_type(kind: Any) -> pa.DataType | None:
    if not isinstance(kind, str):
        return None
    decimal = _DECIMAL.fullmatch(kind)
    return pa.decimal128(int(decimal[1]), int(decimal[2])) if decimal else _TYPES.get(kind)
