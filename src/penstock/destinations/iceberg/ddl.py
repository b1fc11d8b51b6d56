"""DDL of Iceberg tables: columns, partitions, properties, and type widening."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from penstock.destinations.lake.ddl import column_list, columns_with, effective_properties, property_list
from penstock.errors import SchemaCorruptedException
from penstock.package.sql import quote_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.schema import Table

FORMAT_VERSION: Final = "format-version"
PARTITION_HINT: Final = "x-iceberg-partition"
"""The hint in which dlt keeps partitions: a list of columns, transforms and their parameters."""
_PROPERTY_HINTS: Final = ("x-iceberg-table-properties", "x-table-properties")
_TIME_TRANSFORMS: Final = {"year": "years", "month": "months", "day": "days", "hour": "hours"}
_NUMBER_TRANSFORMS: Final = frozenset(("bucket", "truncate"))
_TRANSFORM: Final = re.compile(r"(?P<name>[a-z]+)\((?:(?P<number>\d+), )?(?P<column>.+)\)")
_DECIMAL: Final = re.compile(r"DECIMAL\((\d+),(\d+)\)")
_WIDENINGS: Final = frozenset((("INT", "BIGINT"), ("FLOAT", "DOUBLE")))
# Iceberg has no integers of less than 32 bits and stores them as these types.
_STORED_AS: Final = {"TINYINT": "INT", "SMALLINT": "INT"}


def partition_fields(table: Table) -> tuple[str, ...]:
    """Return the partitions of a table as SQL: those of dlt's hint, then columns with the hint `partition`.

    >>> from penstock.schema import Table
    >>> specs = [{"transform": "bucket", "source_column": "id", "param_value": 8}]
    >>> partition_fields(Table.from_dict({"name": "t", PARTITION_HINT: specs}))
    ('bucket(8, `id`)',)
    """
    fields = tuple(_partition_field(table, spec) for spec in table.extras.get(PARTITION_HINT) or ())
    columns = (quote_name(name) for name in columns_with(table, ("partition",)))
    return tuple(dict.fromkeys((*fields, *columns)))


def _partition_field(table: Table, spec: Mapping[str, Any]) -> str:
    transform, column = spec.get("transform", "identity"), spec.get("source_column")
    number = spec.get("param_value")
    if isinstance(column, str):
        if transform == "identity":
            return quote_name(column)
        if transform in _TIME_TRANSFORMS:
            return f"{_TIME_TRANSFORMS[transform]}({quote_name(column)})"
        if transform in _NUMBER_TRANSFORMS and isinstance(number, int):
            return f"{transform}({number}, {quote_name(column)})"
    raise SchemaCorruptedException(
        table=table.name,
        reason=f"{dict(spec)} is not a partition: it needs a source_column, and a transform that is "
        f"identity, {', '.join(_TIME_TRANSFORMS)}, or bucket or truncate with a param_value",
    )


def partition_hints(partitions: Sequence[str]) -> dict[str, Any]:
    """Return the hint for those partitions of an existing table that are transforms of a column.

    >>> partition_hints(["day", "months(at)"])
    {'x-iceberg-partition': [{'transform': 'month', 'source_column': 'at'}]}
    >>> partition_hints(["bucket(8, id)"])[PARTITION_HINT]
    [{'transform': 'bucket', 'source_column': 'id', 'param_value': 8}]
    """
    specs = [_partition_spec(call) for text in partitions if (call := _TRANSFORM.fullmatch(text))]
    return {PARTITION_HINT: specs} if specs else {}


def _partition_spec(call: re.Match[str]) -> dict[str, Any]:
    name, number, column = call["name"], call["number"], call["column"]
    units = {function: unit for unit, function in _TIME_TRANSFORMS.items()}
    spec = {"transform": units.get(name, name), "source_column": column}
    return spec if number is None else {**spec, "param_value": int(number)}


def table_properties(table: Table, settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the properties of a table by its hints and the settings."""
    return effective_properties(table, settings, _PROPERTY_HINTS)


def create_statement(name: str, table: Table, properties: Mapping[str, str]) -> str:
    """Return the statement that creates an empty table if it does not exist; `name` is an SQL name."""
    fields = ", ".join(partition_fields(table))
    parts = [f"CREATE TABLE IF NOT EXISTS {name} ({column_list(table)}) USING iceberg"]
    parts += [f"PARTITIONED BY ({fields})"] if fields else []
    return " ".join((*parts, f"TBLPROPERTIES ({property_list({FORMAT_VERSION: '2', **properties})})"))


def replace_statement(name: str, table: Table | None, properties: Mapping[str, str], query: str) -> str:
    """Return the statement that replaces data and schema of a table by those of a query.

    `table` has the partitions; None if they are not known.

    >>> replace_statement("`t`", None, {}, "SELECT 1 AS id")
    "CREATE OR REPLACE TABLE `t` USING iceberg TBLPROPERTIES ('format-version' = '2') AS SELECT 1 AS id"
    """
    fields = ", ".join(partition_fields(table)) if table else ""
    parts = [f"CREATE OR REPLACE TABLE {name} USING iceberg"]
    parts += [f"PARTITIONED BY ({fields})"] if fields else []
    parts.append(f"TBLPROPERTIES ({property_list({FORMAT_VERSION: '2', **properties})})")
    return f"{' '.join(parts)} AS {query}"


def can_widen(old_type: str, new_type: str) -> bool:
    """Return whether Iceberg can widen a column and still read its existing files.

    >>> can_widen("INT", "BIGINT"), can_widen("DECIMAL(9,2)", "DECIMAL(12,2)"), can_widen("INT", "DOUBLE")
    (True, True, False)
    """
    stored_types = _STORED_AS.get(old_type, old_type), _STORED_AS.get(new_type, new_type)
    narrower, wider = (_DECIMAL.fullmatch(stored_type) for stored_type in stored_types)
    if narrower and wider:
        return narrower[2] == wider[2] and int(wider[1]) > int(narrower[1])
    return stored_types in _WIDENINGS
