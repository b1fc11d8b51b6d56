"""Rows of Postgres as Arrow."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import psycopg

_TYPES: Final[Mapping[str, pa.DataType]] = {
    "int2": pa.int16(),
    "int4": pa.int32(),
    "int8": pa.int64(),
    "float4": pa.float32(),
    "float8": pa.float64(),
    "bool": pa.bool_(),
    "bytea": pa.binary(),
    "date": pa.date32(),
    "time": pa.time64("us"),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", "UTC"),
}
"""The Arrow types by the names of types in Postgres; others are decimals, documents or texts."""
_DOCUMENTS: Final = frozenset(("json", "jsonb"))
_MAX_DIGITS: Final = 38


def arrow_table(cursor: psycopg.Cursor[Any]) -> pa.Table:
    """Return all rows of a query, with timestamps in UTC and documents as JSON texts."""
    columns = cursor.description or []
    rows = cursor.fetchall()
    arrays = [
        _array(column, values)
        for column, values in zip(
            columns, zip(*rows, strict=True) if rows else ((),) * len(columns), strict=True
        )
    ]
    return pa.Table.from_arrays(arrays, names=[column.name for column in columns])


def _array(column: psycopg.Column, values: Sequence[Any]) -> pa.Array:
    name = column.type_display.partition("(")[0]
    if name in _TYPES:
        return pa.array(values, _TYPES[name])
    if name == "numeric":
        return _decimals(column, values)
    if name in _DOCUMENTS:
        return pa.array([None if value is None else json.dumps(value) for value in values], pa.string())
    return pa.array([None if value is None else str(value) for value in values], pa.string())


def _decimals(column: psycopg.Column, values: Sequence[Any]) -> pa.Array:
    """Return decimals of the type of their column; without one, or beyond 38 digits, as the values need."""
    precision, scale = column.precision, column.scale
    if precision is not None and scale is not None and precision <= _MAX_DIGITS:
        return pa.array(values, pa.decimal128(precision, scale))
    return (
        pa.array(values)
        if any(value is not None for value in values)
        else pa.array(values, pa.decimal128(38, 0))
    )
