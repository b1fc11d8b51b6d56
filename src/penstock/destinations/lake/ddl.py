"""What tables of every format are made of, as statements: columns, types, properties."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.package.sql import literal, quote_name
from penstock.schema import spark_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from penstock.schema import Table


def columns_with(table: Table, hints: Iterable[str]) -> tuple[str, ...]:
    """The columns of a table that have one of the hints, and a type."""
    wanted = tuple(hints)
    return tuple(one.name for one in table.complete_columns() if any(map(one.has, wanted)))


def effective_properties(table: Table, settings: Mapping[str, Any], hints: Iterable[str]) -> dict[str, str]:
    """The properties that a table is to have: what the settings say for all, then its own hints.

    >>> from penstock.schema import Table
    >>> table = Table.from_dict({"name": "t", "x-table-properties": {"delta.appendOnly": True}})
    >>> effective_properties(table, {"team": "shop"}, ["x-table-properties"])
    {'team': 'shop', 'delta.appendOnly': 'true'}
    """
    said: dict[str, Any] = dict(settings)
    for hint in hints:
        said |= table.extras.get(hint) or {}
    return {key: property_text(value) for key, value in said.items() if value is not None}


def property_text(value: Any) -> str:
    """A property as tables keep it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def column_list(table: Table) -> str:
    """The columns of a table with their types, as a statement lists them."""
    return ", ".join(f"{quote_name(one.name)} {spark_type(one)}" for one in table.complete_columns())


def set_properties_statement(name: str, properties: Mapping[str, str]) -> str:
    """Set properties of a table that is there; `name` is an SQL name."""
    return f"ALTER TABLE {name} SET TBLPROPERTIES ({property_list(properties)})"


def change_type_statement(name: str, column: str, sql_type: str) -> str:
    """Give a column a larger type; no file is written."""
    return f"ALTER TABLE {name} ALTER COLUMN {quote_name(column)} TYPE {sql_type}"


def property_list(properties: Mapping[str, str]) -> str:
    """Properties as a statement lists them."""
    return ", ".join(f"{literal(key)} = {literal(value)}" for key, value in sorted(properties.items()))


def changed_types(before: Table, after: Table) -> dict[str, tuple[str, str]]:
    """The columns of a table that are to have another type: what they have, and what they shall have."""
    found: dict[str, tuple[str, str]] = {}
    for column in after.complete_columns():
        known = before.columns.get(column.name)
        if known is not None and known.data_type is not None:
            types = spark_type(known), spark_type(column)
            if types[0] != types[1]:
                found[column.name] = types
    return found
