"""DDL of every table format: columns, types, properties."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.package.sql import literal, quote_name
from penstock.schema import spark_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from penstock.schema import Table


def columns_with(table: Table, hints: Iterable[str]) -> tuple[str, ...]:
    """Return the columns of a table that have a type and one of the hints."""
    wanted = tuple(hints)
    return tuple(column.name for column in table.complete_columns() if any(map(column.has, wanted)))


def effective_properties(table: Table, settings: Mapping[str, Any], hints: Iterable[str]) -> dict[str, str]:
    """Return the properties of a table: its own hints take precedence over the settings for all tables.

    >>> from penstock.schema import Table
    >>> table = Table.from_dict({"name": "t", "x-table-properties": {"delta.appendOnly": True}})
    >>> effective_properties(table, {"team": "shop"}, ["x-table-properties"])
    {'team': 'shop', 'delta.appendOnly': 'true'}
    """
    properties: dict[str, Any] = dict(settings)
    for hint in hints:
        properties |= table.extras.get(hint) or {}
    return {key: property_text(value) for key, value in properties.items() if value is not None}


def property_text(value: Any) -> str:
    """Return the value of a property as text."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def column_list(table: Table) -> str:
    """Return the columns of a table with their types, as a statement lists them."""
    return ", ".join(f"{quote_name(column.name)} {spark_type(column)}" for column in table.complete_columns())


def set_properties_statement(name: str, properties: Mapping[str, str]) -> str:
    """Return the statement that sets properties of a table; `name` is an SQL name."""
    return f"ALTER TABLE {name} SET TBLPROPERTIES ({property_list(properties)})"


def change_type_statement(name: str, column: str, sql_type: str) -> str:
    """Return the statement that widens the type of a column; it rewrites no file."""
    return f"ALTER TABLE {name} ALTER COLUMN {quote_name(column)} TYPE {sql_type}"


def property_list(properties: Mapping[str, str]) -> str:
    """Return properties as a statement lists them."""
    return ", ".join(f"{literal(key)} = {literal(value)}" for key, value in sorted(properties.items()))


def changed_properties(current: Mapping[str, str], wanted: Mapping[str, str]) -> dict[str, str]:
    """Return the wanted properties that differ from the current ones."""
    return {key: value for key, value in wanted.items() if current.get(key) != value}


def changed_types(previous: Table, table: Table) -> dict[str, tuple[str, str]]:
    """Return the columns whose type changed, with the previous and the new type."""
    changed: dict[str, tuple[str, str]] = {}
    for column in table.complete_columns():
        previous_column = previous.columns.get(column.name)
        if previous_column is not None and previous_column.data_type is not None:
            types = spark_type(previous_column), spark_type(column)
            if types[0] != types[1]:
                changed[column.name] = types
    return changed
