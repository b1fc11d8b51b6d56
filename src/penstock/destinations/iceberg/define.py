"""What an Iceberg table is made of, as statements: columns, partitions, properties, types."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from penstock.destinations.lake.define import assigned, column_list, columns_with, told_properties
from penstock.errors import SchemaCorruptedException
from penstock.package.sql import quoted
from penstock.schema.sparktypes import nested_type

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from penstock.schema import Table

FORMAT_VERSION: Final = "format-version"
PARTITION: Final = "x-iceberg-partition"
"""The hint in which dlt keeps partitions: a list of columns, transforms and their parameters."""
_PROPERTIES: Final = ("x-iceberg-table-properties", "x-table-properties")
_BY_TIME: Final = {"year": "years", "month": "months", "day": "days", "hour": "hours"}
_BY_NUMBER: Final = frozenset(("bucket", "truncate"))
_INSIDE: Final = {"array": ("element",), "map": ("key", "value")}
_DECIMAL: Final = re.compile(r"DECIMAL\((\d+),(\d+)\)")
_WIDER: Final = frozenset((("INT", "BIGINT"), ("FLOAT", "DOUBLE")))
# Iceberg has no whole numbers of less than 32 bits: they are kept as these.
_KEPT_AS: Final = {"TINYINT": "INT", "SMALLINT": "INT"}


def partition_fields(table: Table) -> tuple[str, ...]:
    """The partitions of a table, as SQL: first what dlt's hint says, then columns with the hint `partition`.

    >>> from penstock.schema import Table
    >>> said = [{"transform": "bucket", "source_column": "id", "param_value": 8}]
    >>> partition_fields(Table.from_dict({"name": "t", PARTITION: said}))
    ('bucket(8, `id`)',)
    """
    said = tuple(_field(table, one) for one in table.extras.get(PARTITION) or ())
    named = (quoted(name) for name in columns_with(table, ("partition",)))
    return tuple(dict.fromkeys((*said, *named)))


def _field(table: Table, said: Mapping[str, Any]) -> str:
    transform, column = said.get("transform", "identity"), said.get("source_column")
    number = said.get("param_value")
    if isinstance(column, str):
        if transform == "identity":
            return quoted(column)
        if transform in _BY_TIME:
            return f"{_BY_TIME[transform]}({quoted(column)})"
        if transform in _BY_NUMBER and isinstance(number, int):
            return f"{transform}({number}, {quoted(column)})"
    raise SchemaCorruptedException(
        table=table.name,
        reason=f"{dict(said)} is no partition: it takes a source_column, and a transform that is identity, "
        f"{', '.join(_BY_TIME)}, or bucket or truncate with a param_value",
    )


def table_properties(table: Table, settings: Mapping[str, Any]) -> dict[str, str]:
    """The properties that a table is to have."""
    return told_properties(table, settings, _PROPERTIES)


def create_statement(name: str, table: Table, properties: Mapping[str, str]) -> str:
    """Make a table without rows, unless it is there; `name` is an SQL name."""
    fields = ", ".join(partition_fields(table))
    parts = [f"CREATE TABLE IF NOT EXISTS {name} ({column_list(table)}) USING iceberg"]
    parts += [f"PARTITIONED BY ({fields})"] if fields else []
    return " ".join((*parts, f"TBLPROPERTIES ({assigned({FORMAT_VERSION: '2', **properties})})"))


def replace_statement(name: str, table: Table | None, properties: Mapping[str, str], query: str) -> str:
    """Put a table with the rows and columns of a query in the place of the one that is there.

    `table` says its partitions; None where nobody knows any.

    >>> replace_statement("`t`", None, {}, "SELECT 1 AS id")
    "CREATE OR REPLACE TABLE `t` USING iceberg TBLPROPERTIES ('format-version' = '2') AS SELECT 1 AS id"
    """
    fields = ", ".join(partition_fields(table)) if table else ""
    parts = [f"CREATE OR REPLACE TABLE {name} USING iceberg"]
    parts += [f"PARTITIONED BY ({fields})"] if fields else []
    parts.append(f"TBLPROPERTIES ({assigned({FORMAT_VERSION: '2', **properties})})")
    return f"{' '.join(parts)} AS {query}"


def missing_fields(has: Mapping[str, Any], wants: Mapping[str, Any]) -> dict[str, str]:
    """The columns that a table lacks, inside of structs too, as SQL names with their types.

    Both are structs as Spark writes them in JSON.

    >>> point = {"type": "struct", "fields": [{"name": "x", "type": "long"}]}
    >>> nothing = {"type": "struct", "fields": []}
    >>> def a_list(of):
    ...     kind = {"type": "array", "elementType": of}
    ...     return {"type": "struct", "fields": [{"name": "at", "type": kind}]}
    >>> missing_fields(a_list(nothing), a_list(point)), missing_fields(nothing, point)
    ({'`at`.`element`.`x`': 'BIGINT'}, {'`x`': 'BIGINT'})
    """
    return {quoted(*path): nested_type(kind) for path, kind in _missing(has, wants, ())}


def _missing(has: Any, wants: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(has, str) or isinstance(wants, str) or has["type"] != wants["type"]:
        return
    for inner in _INSIDE.get(wants["type"], ()):
        yield from _missing(has[f"{inner}Type"], wants[f"{inner}Type"], (*path, inner))
    known = {field["name"]: field["type"] for field in has.get("fields", ())}
    for field in wants.get("fields", ()):
        name, kind = field["name"], field["type"]
        if name in known:
            yield from _missing(known[name], kind, (*path, name))
        else:
            yield (*path, name), kind


def column_statement(name: str, columns: Mapping[str, str]) -> str:
    """Add columns by their SQL names; those that are there keep their ids."""
    added = ", ".join(f"{column} {sql_type}" for column, sql_type in columns.items())
    return f"ALTER TABLE {name} ADD COLUMNS ({added})"


def can_widen(has: str, to: str) -> bool:
    """Whether Iceberg changes a column from one type to another and reads the files that are there.

    >>> can_widen("INT", "BIGINT"), can_widen("DECIMAL(9,2)", "DECIMAL(12,2)"), can_widen("INT", "DOUBLE")
    (True, True, False)
    """
    kept = _KEPT_AS.get(has, has), _KEPT_AS.get(to, to)
    narrower, wider = (_DECIMAL.fullmatch(one) for one in kept)
    if narrower and wider:
        return narrower[2] == wider[2] and int(wider[1]) > int(narrower[1])
    return kept in _WIDER
