"""What each column is in SQL, in the words of any dialect that sqlglot knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlglot import exp

from penstock.schema.spark_types import integer_width, precision_and_scale, required_type, spark_type

if TYPE_CHECKING:
    from penstock.schema.column import Column

_PLAIN: Final = {
    "json": "JSONB",
    "double": "DOUBLE PRECISION",
    "bool": "BOOLEAN",
    "binary": "BYTEA",
    "date": "DATE",
}
_INTEGERS: Final = {8: "SMALLINT", 16: "SMALLINT", 32: "INTEGER", 64: "BIGINT"}
_SPARK: Final = frozenset(("spark", "databricks"))


def sql_type(column: Column, dialect: str = "postgres") -> str:
    """Name the type that holds the column, as written in the DDL of `dialect`.

    >>> from penstock.schema import Column
    >>> sql_type(Column(name="at", data_type="timestamp")), sql_type(Column(name="n", data_type="decimal"))
    ('TIMESTAMPTZ', 'DECIMAL(38, 9)')
    """
    if dialect in _SPARK:
        return spark_type(column)
    return exp.DataType.build(_in_postgres(column), dialect="postgres").sql(dialect=dialect)


def _in_postgres(column: Column) -> str:
    match required_type(column):
        case "text":
            return f"VARCHAR({column.precision})" if column.precision else "TEXT"
        case "bigint":
            return _INTEGERS[integer_width(column.precision)]
        case "decimal" | "wei":
            digits, scale = precision_and_scale(column)
            return f"NUMERIC({digits},{scale})"
        case "timestamp":
            return _with_digits("TIMESTAMP" if column.timezone is False else "TIMESTAMPTZ", column)
        case "time":
            return _with_digits("TIME", column)
        case plain:
            return _PLAIN[plain]


def _with_digits(name: str, column: Column) -> str:
    return name if column.precision is None else f"{name}({column.precision})"
