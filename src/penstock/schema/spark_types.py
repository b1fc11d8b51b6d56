"""Spark SQL types of columns."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from penstock.errors import UnboundColumnException
from penstock.schema.column import Column
from penstock.schema.frozen_map import FrozenMap
from penstock.schema.spark_sql import quote_name
from penstock.schema.types import DEFAULT_DECIMAL_SCALE, MAX_DECIMAL_PRECISION, MIN_ADJUSTED_SCALE

if TYPE_CHECKING:
    from penstock.schema.types import DataType

_SIMPLE_TYPES: Final[dict[DataType, str]] = {
    "text": "STRING",
    "json": "STRING",
    "time": "STRING",
    "double": "DOUBLE",
    "bool": "BOOLEAN",
    "binary": "BINARY",
    "date": "DATE",
}
NESTED_TYPE_HINT: Final = "x-nested-type"
"""The hint on a `json` column that is a struct, an array or a map: its type in Spark's JSON form."""
_JSON_TYPE_NAMES: Final = {"byte": "TINYINT", "short": "SMALLINT", "integer": "INT", "long": "BIGINT"}
_INTEGER_TYPES: Final = {8: "TINYINT", 16: "SMALLINT", 32: "INT", 64: "BIGINT"}


_COLUMN_TYPES: Final[dict[str, DataType]] = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), "bigint"),
    **dict.fromkeys(("float", "double"), "double"),
    **dict.fromkeys(("timestamp", "timestamp_ntz"), "timestamp"),
    **dict.fromkeys(("struct", "array", "map", "variant"), "json"),
    "boolean": "bool",
    "binary": "binary",
    "date": "date",
    "decimal": "decimal",
}


def column_from_spark(name: str, sql_type: str, *, nullable: bool, stored: Column | None = None) -> Column:
    """Return the column of a query by its Spark SQL type; the type of a stored column takes precedence.

    >>> column_from_spark("price", "decimal(10,2)", nullable=True).to_dict()
    {'name': 'price', 'data_type': 'decimal', 'nullable': True, 'precision': 10, 'scale': 2}
    """
    if stored is not None and stored.is_complete:
        return replace(stored, name=name, hints=FrozenMap())
    type_name, *digits = re.findall(r"[a-z_]+|\d+", sql_type)[:3]
    data_type = _COLUMN_TYPES.get(type_name, "text")
    column = Column(name=name, data_type=data_type, nullable=nullable)
    if data_type == "decimal":
        return replace(column, precision=int(digits[0]), scale=int(digits[1]))
    return replace(column, timezone=False) if type_name == "timestamp_ntz" else column


def _required_type(column: Column) -> DataType:
    """Return the type of a column; raise `UnboundColumnException` if it has none."""
    if column.data_type is None:
        raise UnboundColumnException(column=column.name)
    return column.data_type


def spark_type(column: Column) -> str:
    """Return the Spark SQL type of a column, as in DDL.

    The precision of timestamps and texts is ignored: Spark's timestamps have microseconds, and its strings
    no length.
    """
    if NESTED_TYPE_HINT in column.hints:
        return spark_type_from_json(json.loads(column.hints[NESTED_TYPE_HINT]))
    match _required_type(column):
        case "bigint":
            return _INTEGER_TYPES[_integer_width(column.precision)]
        case "decimal" | "wei":
            digits, fraction = precision_and_scale(column)
            return f"DECIMAL({digits},{fraction})"
        case "timestamp":
            return "TIMESTAMP_NTZ" if column.timezone is False else "TIMESTAMP"
        case plain:
            return _SIMPLE_TYPES[plain]


def spark_type_from_json(json_type: Any) -> str:
    """Return the SQL of a type in Spark's JSON form.

    >>> spark_type_from_json({"type": "struct", "fields": [{"name": "odd `key`", "type": "long"}]})
    'STRUCT<`odd ``key```: BIGINT>'
    """
    if isinstance(json_type, str):
        return _JSON_TYPE_NAMES.get(json_type, json_type.upper())
    match json_type["type"]:
        case "struct":
            fields = (
                f"{quote_name(field['name'])}: {spark_type_from_json(field['type'])}"
                for field in json_type["fields"]
            )
            return f"STRUCT<{', '.join(fields)}>"
        case "array":
            return f"ARRAY<{spark_type_from_json(json_type['elementType'])}>"
        case _:
            key = spark_type_from_json(json_type["keyType"])
            value = spark_type_from_json(json_type["valueType"])
            return f"MAP<{key}, {value}>"


def _integer_width(bits: int | None) -> int:
    """Return the smallest integer width of at least so many bits; 64 by default."""
    return 64 if bits is None else next((width for width in (8, 16, 32) if bits <= width), 64)


def precision_and_scale(column: Column) -> tuple[int, int]:
    """Return precision and scale of a decimal or wei column, limited to the 38 digits of Spark and Arrow."""
    default_scale = DEFAULT_DECIMAL_SCALE if column.data_type == "decimal" else 0
    digits = column.precision or MAX_DECIMAL_PRECISION
    fraction = min(default_scale if column.scale is None else column.scale, digits)
    if digits > MAX_DECIMAL_PRECISION:
        # As in Spark's arithmetic: integer digits take precedence over fraction digits.
        available = MAX_DECIMAL_PRECISION - (digits - fraction)
        return MAX_DECIMAL_PRECISION, max(available, min(fraction, MIN_ADJUSTED_SCALE))
    return digits, fraction
