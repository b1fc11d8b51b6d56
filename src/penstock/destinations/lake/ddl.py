"""DDL of every table format: columns, types, properties."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from penstock.package.sql import literal, quote_name
from penstock.schema import spark_type
from penstock.schema.spark_types import NESTED_TYPE_HINT, spark_type_from_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from penstock.schema import Table

ColumnPath = tuple[str, ...]
"""The name of a column, and the names of the parts of its type that lead to a field in it."""
_NESTED_PARTS: Final = {"array": ("element",), "map": ("key", "value")}


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


def missing_fields(table_struct: Mapping[str, Any], row_struct: Mapping[str, Any]) -> dict[ColumnPath, str]:
    """Return the columns that a table lacks, in structs too, with their SQL types.

    Both arguments are structs as Spark writes them in JSON.

    >>> point = {"type": "struct", "fields": [{"name": "x", "type": "long"}]}
    >>> empty = {"type": "struct", "fields": []}
    >>> def with_list(element):
    ...     array = {"type": "array", "elementType": element}
    ...     return {"type": "struct", "fields": [{"name": "at", "type": array}]}
    >>> missing_fields(with_list(empty), with_list(point)), missing_fields(empty, point)
    ({('at', 'element', 'x'): 'BIGINT'}, {('x',): 'BIGINT'})
    """
    missing = _missing(table_struct, row_struct, ())
    return {path: spark_type_from_json(json_type) for path, json_type in missing}


def _missing(table_type: Any, row_type: Any, path: ColumnPath) -> Iterator[tuple[ColumnPath, Any]]:
    if isinstance(table_type, str) or isinstance(row_type, str) or table_type["type"] != row_type["type"]:
        return
    for part in _NESTED_PARTS.get(row_type["type"], ()):
        yield from _missing(table_type[f"{part}Type"], row_type[f"{part}Type"], (*path, part))
    table_fields = {field["name"]: field["type"] for field in table_type.get("fields", ())}
    for field in row_type.get("fields", ()):
        name, field_type = field["name"], field["type"]
        if name in table_fields:
            yield from _missing(table_fields[name], field_type, (*path, name))
        else:
            yield (*path, name), field_type


def missing_columns(table: Table, table_struct: Mapping[str, Any]) -> dict[ColumnPath, str]:
    """Return the columns of the schema that a table lacks, in structs too, with their SQL types.

    >>> from penstock.schema import Table
    >>> columns = {"id": {"data_type": "bigint"}, "name": {"data_type": "text"}, "untyped": {}}
    >>> struct = {"type": "struct", "fields": [{"name": "id", "type": "long"}]}
    >>> missing_columns(Table.from_dict({"name": "t", "columns": columns}), struct)
    {('name',): 'STRING'}
    """
    stored = {field["name"]: field["type"] for field in table_struct["fields"]}
    missing: dict[ColumnPath, str] = {}
    for column in table.complete_columns():
        if column.name not in stored:
            missing[(column.name,)] = spark_type(column)
        elif NESTED_TYPE_HINT in column.hints:
            fields = _missing(stored[column.name], json.loads(column.hints[NESTED_TYPE_HINT]), (column.name,))
            missing |= {path: spark_type_from_json(json_type) for path, json_type in fields}
    return missing


def differing_types(table: Table, table_struct: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """Return the columns whose type at the destination is not that of the schema, with both types.

    >>> from penstock.schema import Table
    >>> struct = {"type": "struct", "fields": [{"name": "id", "type": "integer"}]}
    >>> differing_types(Table.from_dict({"name": "t", "columns": {"id": {"data_type": "bigint"}}}), struct)
    {'id': ('INT', 'BIGINT')}
    """
    stored = {field["name"]: field["type"] for field in table_struct["fields"]}
    pairs = {
        column.name: (spark_type_from_json(stored[column.name]), spark_type(column))
        for column in table.complete_columns()
        if column.name in stored and NESTED_TYPE_HINT not in column.hints
    }
    return {name: types for name, types in pairs.items() if types[0] != types[1]}


def add_columns_statement(name: str, columns: Mapping[ColumnPath, str]) -> str:
    """Return the statement that adds columns; `name` is an SQL name.

    >>> add_columns_statement("`t`", {("at", "element", "x"): "BIGINT"})
    'ALTER TABLE `t` ADD COLUMNS (`at`.`element`.`x` BIGINT)'
    """
    definitions = ", ".join(f"{quote_name(*path)} {sql_type}" for path, sql_type in columns.items())
    return f"ALTER TABLE {name} ADD COLUMNS ({definitions})"
