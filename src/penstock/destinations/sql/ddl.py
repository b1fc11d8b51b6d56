"""Statements that create and change tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import sqlglot
from sqlglot import exp

from penstock.destinations.sql.dialect import column, identifier

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.destinations.sql.dialect import DatasetNames, SqlDialect
    from penstock.schema import Column, Table


def create_schema(names: DatasetNames) -> exp.Create:
    """Return the statement that creates the schema of a dataset, if it does not exist."""
    return exp.Create(this=names.schema, kind="SCHEMA", exists=True)


def drop_schema(names: DatasetNames) -> exp.Drop:
    """Return the statement that drops the schema of a dataset with its tables, if it exists."""
    return _drop("DROP SCHEMA IF EXISTS name CASCADE", names.schema)


def create_table(table: exp.Table, columns: Iterable[exp.ColumnDef], *, exists: bool = False) -> exp.Create:
    """Return the statement that creates a table; with `exists`, only if it does not exist."""
    definition = exp.Schema(this=table, expressions=list(columns))
    return exp.Create(this=definition, kind="TABLE", exists=exists)


def create_temporary_table(name: str, query: exp.Query) -> exp.Create:
    """Return the statement that creates a table of this connection with the rows of a query."""
    temporary = exp.Properties(expressions=[exp.TemporaryProperty()])
    table = exp.Table(this=identifier(name))
    return exp.Create(this=table, kind="TABLE", properties=temporary, expression=query)


def drop_table(table: exp.Table) -> exp.Drop:
    """Return the statement that drops a table, if it exists."""
    return _drop("DROP TABLE IF EXISTS name", table)


def add_column(table: exp.Table, definition: exp.ColumnDef) -> exp.Alter:
    """Return the statement that adds a column to a table."""
    return exp.Alter(this=table, kind="TABLE", actions=[definition])


def drop_column(table: exp.Table, name: str) -> exp.Alter:
    """Return the statement that drops a column of a table, if it exists."""
    statement = cast("exp.Alter", sqlglot.parse_one("ALTER TABLE name DROP COLUMN IF EXISTS field"))
    for placeholder, replacement in ((exp.Table, table), (exp.Column, column(name))):
        node = statement.find(placeholder)
        if node is not None:
            node.replace(replacement)
    return statement


def column_definition(column: Column, table: Table, dialect: SqlDialect) -> exp.ColumnDef:
    """Return the definition of a column, with its type and whether it accepts nulls."""
    not_null = exp.ColumnConstraint(kind=exp.NotNullColumnConstraint())
    return exp.ColumnDef(
        this=identifier(column.name),
        kind=dialect.type_of(column, table),
        constraints=[] if column.is_nullable else [not_null],
    )


def _drop(template: str, name: exp.Table) -> exp.Drop:
    """Return a DROP statement: its expression differs between versions of sqlglot, its text does not."""
    statement = cast("exp.Drop", sqlglot.parse_one(template))
    placeholder = statement.find(exp.Table)
    if placeholder is not None:
        placeholder.replace(name)
    return statement
