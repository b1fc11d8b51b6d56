"""What a Delta table is made of, as statements: columns, partitions, clusters, properties."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from penstock.destinations.lake.ddl import (
    column_list,
    columns_with,
    effective_properties,
    property_list,
    property_text,
)
from penstock.package.sql import quote_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from penstock.schema import Table

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
