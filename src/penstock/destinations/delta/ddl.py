"""DDL of Delta tables: columns, partitions, clustering, properties, and type widening."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from penstock.destinations.lake.ddl import (
    column_list,
    columns_with,
    effective_properties,
    property_list,
    property_text,
)
from penstock.errors import DestinationTerminalException
from penstock.package.sql import quote_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from penstock.schema import Table
    from penstock.schema.types import DataType


TYPE_WIDENING: Final = "delta.enableTypeWidening"
"""The property of tables whose columns may be widened. Not every reader supports such tables."""
_PROPERTY_HINTS: Final = ("x-databricks-table-properties", "x-table-properties")
_CLUSTER_HINTS: Final = ("cluster", "x-databricks-cluster")


def partition_columns(table: Table) -> tuple[str, ...]:
    """Return the partition columns."""
    return columns_with(table, ("partition",))


def cluster_columns(table: Table) -> tuple[str, ...]:
    """Return the clustering columns; a partitioned table has none.

    Delta refuses columns without an order, such as booleans.
    """
    return () if partition_columns(table) else columns_with(table, _CLUSTER_HINTS)


def table_properties(table: Table, settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the properties of a table by its hints and the settings."""
    return effective_properties(table, settings, _PROPERTY_HINTS)


def is_true(value: Any) -> bool:
    """Return whether a property, a text or a value, is true."""
    return value is not None and property_text(value).lower() == "true"


def create_statement(name: str, table: Table, properties: Mapping[str, str]) -> str:
    """Return the statement that creates an empty table if it does not exist; `name` is an SQL name."""
    parts = [f"CREATE TABLE IF NOT EXISTS {name} ({column_list(table)}) USING delta"]
    for keyword, names in (("PARTITIONED", partition_columns(table)), ("CLUSTER", cluster_columns(table))):
        if names:
            parts.append(f"{keyword} BY ({', '.join(map(quote_name, names))})")
    if properties:
        parts.append(f"TBLPROPERTIES ({property_list(properties)})")
    return " ".join(parts)


def cluster_statement(name: str, columns: Iterable[str]) -> str:
    """Return the statement that sets the clustering of rows written from now on.

    >>> cluster_statement("`t`", ()), cluster_statement("`t`", ("a",))
    ('ALTER TABLE `t` CLUSTER BY NONE', 'ALTER TABLE `t` CLUSTER BY (`a`)')
    """
    names = ", ".join(map(quote_name, columns))
    return f"ALTER TABLE {name} CLUSTER BY {f'({names})' if names else 'NONE'}"


ALTERABLE_TYPES: Final[frozenset[tuple[DataType, DataType]]] = frozenset(
    (("bigint", "decimal"), ("bigint", "wei"))
)
"""Pairs of types of which Delta widens the first to the second."""

_INTEGER_TYPES: Final[Mapping[str, tuple[int, frozenset[str]]]] = {
    "TINYINT": (10, frozenset(("SMALLINT", "INT", "BIGINT", "DOUBLE"))),
    "SMALLINT": (10, frozenset(("INT", "BIGINT", "DOUBLE"))),
    "INT": (10, frozenset(("BIGINT", "DOUBLE"))),
    "BIGINT": (20, frozenset[str]()),
}
"""For each integer type the digits before the point that a decimal needs for it, and its wider types."""
_DECIMAL: Final = re.compile(r"DECIMAL\((\d+),(\d+)\)")


def can_widen(old_type: str, new_type: str) -> bool:
    """Return whether Delta can widen a column and still read its existing files.

    >>> can_widen("INT", "BIGINT"), can_widen("BIGINT", "DECIMAL(38,9)"), can_widen("BIGINT", "DOUBLE")
    (True, True, False)
    """
    wider, narrower = _DECIMAL.fullmatch(new_type), _DECIMAL.fullmatch(old_type)
    if old_type in _INTEGER_TYPES:
        digits, fits = _INTEGER_TYPES[old_type]
        return new_type in fits or (wider is not None and int(wider[1]) - int(wider[2]) >= digits)
    if narrower and wider:
        scales = int(narrower[2]), int(wider[2])
        integer_digits = int(narrower[1]) - scales[0], int(wider[1]) - scales[1]
        return scales[1] >= scales[0] and integer_digits[1] >= integer_digits[0]
    return (old_type, new_type) == ("DATE", "TIMESTAMP_NTZ")


def wider_types(
    table: str, types: Mapping[str, tuple[str, str]], properties: Mapping[str, str]
) -> dict[str, str]:
    """Return the columns to widen. A narrower type in the schema fits into that of the table."""
    wider = {column: new for column, (old, new) in types.items() if can_widen(old, new)}
    if wider and properties.get(TYPE_WIDENING) != "true":
        column = next(iter(wider))
        old, new = types[column]
        raise DestinationTerminalException(
            f"{table}.{column} has the type {old}, and rows have {new}",
            hint=f"set the table property {TYPE_WIDENING} to true, if all its readers support such tables",
        )
    return wider
