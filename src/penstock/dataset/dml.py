"""Statements that change tables of a dataset, written for the place where the tables really are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from penstock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

_DIALECT = "spark"
_DML = re.compile(r"(?:\s|--[^\n]*\n|/\*.*?\*/)*(?:DELETE|UPDATE|INSERT|MERGE)\b", re.DOTALL | re.IGNORECASE)


def resolve_tables(text: str, *, dataset: str, tables: Mapping[str, str]) -> str:
    """A statement in which tables of the dataset are called what they are called in SQL.

    >>> tables = {"items": "delta.`s3a://b/items`"}
    >>> resolve_tables("DELETE FROM items WHERE items.id = ?", dataset="demo", tables=tables)
    'DELETE FROM delta.`s3a://b/items` AS items WHERE items.id = ?'
    """
    if _DML.match(text) is None:
        raise _unsupported_statement("it is none of DELETE, UPDATE, INSERT and MERGE")
    try:
        tree = sqlglot.parse_one(text, read=_DIALECT)
    except SqlglotError as error:
        raise _unsupported_statement(f"it cannot be understood: {str(error).splitlines()[0]}") from error
    known = {name.casefold(): place for name, place in tables.items()}
    inner = {one.alias_or_name.casefold() for one in tree.find_all(exp.CTE)}
    for table in list(tree.find_all(exp.Table)):
        name, owner = table.name.casefold(), table.db.casefold()
        if owner not in {"", dataset.casefold()} or name not in known or (not owner and name in inner):
            continue
        place = exp.to_table(known[name], dialect=_DIALECT)
        is_target = isinstance(tree, exp.Insert) and table.find_ancestor(exp.Insert, exp.Select) is tree
        # An insert has no alias; everywhere else columns may be called by their table.
        called = table.alias or ("" if is_target else table.name)
        table.replace(exp.alias_(place, called, table=True, dialect=_DIALECT) if called else place)
    return tree.sql(dialect=_DIALECT)


def _unsupported_statement(reason: str) -> UsageError:
    return UsageError(
        f"this statement is not run on a dataset: {reason}",
        hint="run it with spark.sql in your own session, or load the change with the pipeline",
    )
