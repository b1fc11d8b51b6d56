"""What a Delta table is made of, as statements: columns, partitions, clusters, properties."""

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
"""The property of tables whose columns may change to a larger type. Not every reader knows such tables."""
_PROPERTY_HINTS: Final = ("x-databricks-table-properties", "x-table-properties")
_CLUSTER_HINTS: Final = ("cluster", "x-databricks-cluster")


def partition_columns(table: Table) -> tuple[str, ...]:
    """The columns that tell folders of a table apart."""
    return columns_with(table, ("partition",))


def cluster_columns(table: Table) -> tuple[str, ...]:
    """The columns by which rows stand together; a table with partitions has none.

    Delta refuses columns that it has no order for, such as truth, and names them.
    """
    return () if partition_columns(table) else columns_with(table, _CLUSTER_HINTS)


def table_properties(table: Table, settings: Mapping[str, Any]) -> dict[str, str]:
    """The properties that a table is to have."""
    return effective_properties(table, settings, _PROPERTY_HINTS)


def is_true(value: Any) -> bool:
    """Whether a property that was given as text or as a value is switched on."""
    return value is not None and property_text(value).lower() == "true"


def create_statement(name: str, table: Table, properties: Mapping[str, str]) -> str:
    """Make a table without rows, unless it is there; `name` is an SQL name."""
    parts = [f"CREATE TABLE IF NOT EXISTS {name} ({column_list(table)}) USING delta"]
    for words, names in (("PARTITIONED", partition_columns(table)), ("CLUSTER", cluster_columns(table))):
        if names:
            parts.append(f"{words} BY ({', '.join(map(quote_name, names))})")
    if properties:
        parts.append(f"TBLPROPERTIES ({property_list(properties)})")
    return " ".join(parts)


def cluster_statement(name: str, columns: Iterable[str]) -> str:
    """Let rows that come from now on stand together by these columns.

    >>> cluster_statement("`t`", ()), cluster_statement("`t`", ("a",))
    ('ALTER TABLE `t` CLUSTER BY NONE', 'ALTER TABLE `t` CLUSTER BY (`a`)')
    """
    names = ", ".join(map(quote_name, columns))
    return f"ALTER TABLE {name} CLUSTER BY {f'({names})' if names else 'NONE'}"


ALTERABLE_TYPES: Final[frozenset[tuple[DataType, DataType]]] = frozenset(
    (("bigint", "decimal"), ("bigint", "wei"))
)
"""Types that columns can be changed from and to, rows and all."""

_INTEGER_TYPES: Final[Mapping[str, tuple[int, frozenset[str]]]] = {
    "TINYINT": (10, frozenset(("SMALLINT", "INT", "BIGINT", "DOUBLE"))),
    "SMALLINT": (10, frozenset(("INT", "BIGINT", "DOUBLE"))),
    "INT": (10, frozenset(("BIGINT", "DOUBLE"))),
    "BIGINT": (20, frozenset[str]()),
}
"""For each whole number the digits before the point that a decimal needs for it, and the types it fits."""
_DECIMAL: Final = re.compile(r"DECIMAL\((\d+),(\d+)\)")


def can_widen(old_type: str, new_type: str) -> bool:
    """Whether Delta changes a column from one type to another and reads the files that are there.

    >>> can_widen("INT", "BIGINT"), can_widen("BIGINT", "DECIMAL(38,9)"), can_widen("BIGINT", "DOUBLE")
    (True, True, False)
    """
    wider, narrower = _DECIMAL.fullmatch(new_type), _DECIMAL.fullmatch(old_type)
    if old_type in _INTEGER_TYPES:
        digits, fits = _INTEGER_TYPES[old_type]
        return new_type in fits or (wider is not None and int(wider[1]) - int(wider[2]) >= digits)
    if narrower and wider:
        scales = int(narrower[2]), int(wider[2])
        whole = int(narrower[1]) - scales[0], int(wider[1]) - scales[1]
        return scales[1] >= scales[0] and whole[1] >= whole[0]
    return (old_type, new_type) == ("DATE", "TIMESTAMP_NTZ")


def wider_types(
    table: str, types: Mapping[str, tuple[str, str]], properties: Mapping[str, str]
) -> dict[str, str]:
    """The columns that get a larger type. A smaller one in the schema fits into what the table has."""
    found = {column: to for column, (has, to) in types.items() if can_widen(has, to)}
    if found and properties.get(TYPE_WIDENING) != "true":
        column = next(iter(found))
        has, to = types[column]
        raise DestinationTerminalException(
            f"{table}.{column} holds {has}, and rows with {to} come",
            hint=f"set the table property {TYPE_WIDENING} to true, if all its readers know such tables",
        )
    return found
