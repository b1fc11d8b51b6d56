"""Functions for `add_map` over frames: a hash of each row, nulls of JSON columns."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import MissingDependencyException

if TYPE_CHECKING:
    from collections.abc import Callable


def add_row_hash_to_table(row_hash_column_name: str) -> Callable[[Any], Any]:
    """Return a map that adds a column with a hash of each row to frames of Arrow or pandas.

    The hashes are those of pandas as signed 64-bit numbers, as in dlt. With `scd2`, pass the column as
    `row_version_column_name`.

    >>> hashed = add_row_hash_to_table("version")(pa.table({"id": [1, 2, 1]}))
    >>> versions = hashed["version"].to_pylist()
    >>> versions[0] == versions[2] != versions[1]
    True
    """
    hash_rows = _pandas(needed_for="add_row_hash_to_table").util.hash_pandas_object

    def add_hash(frame: Any) -> Any:
        table = pa.Table.from_batches([frame]) if isinstance(frame, pa.RecordBatch) else frame
        is_arrow = isinstance(table, pa.Table)
        rows = table.to_pandas(deduplicate_objects=False) if is_arrow else table
        hashes = hash_rows(rows, index=False).to_numpy().astype("int64")
        if is_arrow:
            return table.append_column(row_hash_column_name, pa.array(hashes))
        return rows.assign(**{row_hash_column_name: hashes})

    return add_hash


def unwrap_json_connector_x(field: str) -> Callable[[pa.Table], pa.Table]:
    """Return a map that makes nulls of the texts `null` in a JSON column of Arrow tables.

    ConnectorX reads an SQL NULL in such a column as the text `null`.

    >>> unwrap_json_connector_x("facts")(pa.table({"facts": ["null", '{"a": 1}']}))["facts"].to_pylist()
    [None, '{"a": 1}']
    """

    def unwrap(table: pa.Table) -> pa.Table:
        index = table.schema.get_field_index(field)
        if index < 0:
            raise KeyError(field)
        declared = table.schema.field(index)
        column = pc.if_else(pc.equal(table[field], "null"), pa.scalar(None, declared.type), table[field])
        return table.set_column(index, declared.with_nullable(nullable=True), column)

    return unwrap


def _pandas(*, needed_for: str) -> Any:
    try:
        return import_module("pandas")
    except ModuleNotFoundError as error:
        raise MissingDependencyException(needed_for, ("pandas",)) from error
