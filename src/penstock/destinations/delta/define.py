"""What a Delta table is made of, as statements: columns, partitions, clusters, properties."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from penstock.package.sql import literal, quoted
from penstock.schema import spark_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from penstock.schema import Table

WIDENING: Final = "delta.enableTypeWidening"
"""The property of tables whose columns may change to a larger type. Not every reader knows such tables."""
_PROPERTIES: Final = ("x-databricks-table-properties", "x-table-properties")
_CLUSTER: Final = ("cluster", "x-databricks-cluster")


def partition_columns(table: Table) -> tuple[str, ...]:
    """The columns that tell folders of a table apart."""
    return _with_type(table, ("partition",))


def cluster_columns(table: Table) -> tuple[str, ...]:
    """The columns by which rows stand together; a table with partitions has none.

    Delta refuses columns that it has no order for, such as truth, and names them.
    """
    return () if partition_columns(table) else _with_type(table, _CLUSTER)


def _with_type(table: Table, hints: Iterable[str]) -> tuple[str, ...]:
    wanted = tuple(hints)
    return tuple(one.name for one in table.complete_columns() if any(map(one.has, wanted)))


def table_properties(table: Table, settings: Mapping[str, Any]) -> dict[str, str]:
    """The properties that a table is to have: what the settings say for all, then its own hints.

    >>> from penstock.schema import Table
    >>> table = Table.from_dict({"name": "t", "x-table-properties": {"delta.appendOnly": True}})
    >>> table_properties(table, {"team": "shop"})
    {'team': 'shop', 'delta.appendOnly': 'true'}
    """
    said: dict[str, Any] = dict(settings)
    for hint in _PROPERTIES:
        said |= table.extras.get(hint) or {}
    return {key: _text(value) for key, value in said.items() if value is not None}


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def is_true(value: Any) -> bool:
    """Whether a property that was given as text or as a value is switched on."""
    return value is not None and _text(value).lower() == "true"


def create_statement(name: str, table: Table, properties: Mapping[str, str]) -> str:
    """Make a table without rows, unless it is there; `name` is an SQL name."""
    columns = ", ".join(f"{quoted(one.name)} {spark_type(one)}" for one in table.complete_columns())
    parts = [f"CREATE TABLE IF NOT EXISTS {name} ({columns}) USING delta"]
    for words, names in (("PARTITIONED", partition_columns(table)), ("CLUSTER", cluster_columns(table))):
        if names:
            parts.append(f"{words} BY ({', '.join(map(quoted, names))})")
    if properties:
        parts.append(f"TBLPROPERTIES ({_assigned(properties)})")
    return " ".join(parts)


def property_statement(name: str, properties: Mapping[str, str]) -> str:
    """Set properties of a table that is there."""
    return f"ALTER TABLE {name} SET TBLPROPERTIES ({_assigned(properties)})"


def cluster_statement(name: str, columns: Iterable[str]) -> str:
    """Let rows that come from now on stand together by these columns.

    >>> cluster_statement("`t`", ()), cluster_statement("`t`", ("a",))
    ('ALTER TABLE `t` CLUSTER BY NONE', 'ALTER TABLE `t` CLUSTER BY (`a`)')
    """
    names = ", ".join(map(quoted, columns))
    return f"ALTER TABLE {name} CLUSTER BY {f'({names})' if names else 'NONE'}"


def type_statement(name: str, column: str, sql_type: str) -> str:
    """Give a column a larger type; no file is written."""
    return f"ALTER TABLE {name} ALTER COLUMN {quoted(column)} TYPE {sql_type}"


def _assigned(properties: Mapping[str, str]) -> str:
    return ", ".join(f"{literal(key)} = {literal(value)}" for key, value in sorted(properties.items()))
