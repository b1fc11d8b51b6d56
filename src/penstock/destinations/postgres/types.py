"""The types of Postgres, which are dlt's, and the formats in which COPY takes their values."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from penstock.interfaces import DataTypeMapper

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.interfaces import TLoaderFileFormat
    from penstock.schema import TColumnSchema, TTableSchema

GEOMETRY_HINT: Final = "x-postgres-geometry"
SRID_HINT: Final = "x-postgres-srid"
_DEFAULT_SRID: Final = 4326
_MAX_SECONDS_PRECISION: Final = 6
_TYPES: Final[Mapping[str, str]] = {
    "json": "jsonb",
    "double": "double precision",
    "bool": "boolean",
    "date": "date",
    "binary": "bytea",
}
_COPY_TYPES: Final[Mapping[str, str]] = {
    "text": "text",
    "json": "jsonb",
    "double": "float8",
    "bool": "bool",
    "date": "date",
    "time": "time",
    "binary": "bytea",
    "decimal": "numeric",
    "wei": "numeric",
}
_INTEGER_TYPES: Final = ((16, "smallint", "int2"), (32, "integer", "int4"), (64, "bigint", "int8"))
_FROM_POSTGRES: Final[Mapping[str, str]] = {
    "character varying": "text",
    "varchar": "text",
    "text": "text",
    "geometry": "text",
    "jsonb": "json",
    "json": "json",
    "double precision": "double",
    "boolean": "bool",
    "timestamp with time zone": "timestamp",
    "timestamp without time zone": "timestamp",
    "date": "date",
    "time without time zone": "time",
    "smallint": "bigint",
    "integer": "bigint",
    "bigint": "bigint",
    "bytea": "binary",
    "numeric": "decimal",
}


class PostgresTypeMapper(DataTypeMapper):
    """The type of each column, as dlt creates it."""

    def to_destination_type(self, column: TColumnSchema, table: TTableSchema) -> str:
        """Return the type of a column; raise `ValueError` for a precision that Postgres does not have."""
        del table
        hints: Mapping[str, Any] = column
        if hints.get(GEOMETRY_HINT):
            return f"geometry(Geometry, {int(hints.get(SRID_HINT) or _DEFAULT_SRID)})"
        precision, scale = column.get("precision"), column.get("scale")
        match column["data_type"]:
            case "bigint":
                return _integer_type(precision)[1]
            case "text":
                return "varchar" if precision is None else f"varchar({precision})"
            case "timestamp":
                zone = "without" if column.get("timezone") is False else "with"
                return f"timestamp{_seconds_precision(precision)} {zone} time zone"
            case "time":
                return f"time{_seconds_precision(precision)} without time zone"
            case "decimal":
                default = self.capabilities.decimal_precision
                return f"numeric({precision or default[0]},{default[1] if scale is None else scale})"
            case "wei":
                default = self.capabilities.wei_precision
                return f"numeric({precision or default[0]},{default[1] if scale is None else scale})"
            case plain:
                return _TYPES[plain]

    def from_destination_type(self, db_type: str, precision: int | None, scale: int | None) -> TColumnSchema:
        """Return the column type of a type; raise `ValueError` for one that penstock does not create."""
        name = re.sub(r"\s*\([^)]*\)", "", db_type).strip()
        if name == "numeric" and (precision, scale) == tuple(self.capabilities.wei_precision):
            return {"data_type": "wei"}
        data_type = _FROM_POSTGRES.get(name)
        if data_type is None:
            raise ValueError(f"{db_type!r} is not a type of columns")
        column: dict[str, Any] = {"data_type": data_type}
        if data_type == "decimal" and precision is not None:
            column |= {"precision": precision, "scale": scale}
        elif name in {"smallint", "integer"}:
            column["precision"] = next(bits for bits, sql_type, _ in _INTEGER_TYPES if sql_type == name)
        elif name == "timestamp without time zone":
            column["timezone"] = False
        return column  # type: ignore[return-value]  # its keys are those of a column type

    def ensure_supported_type(
        self, column: TColumnSchema, table: TTableSchema, loader_file_format: TLoaderFileFormat
    ) -> None:
        """Do nothing: there is a type for each column."""


def copy_type(column: TColumnSchema) -> str:
    """Return the type in which COPY gets the values of a column; its name in Postgres without a length.

    >>> copy_type({"name": "id", "data_type": "bigint", "precision": 32})
    'int4'
    """
    match column["data_type"]:
        case "bigint":
            return _integer_type(column.get("precision"))[2]
        case "timestamp":
            return "timestamp" if column.get("timezone") is False else "timestamptz"
        case plain:
            return _COPY_TYPES[plain]


def _integer_type(bits: int | None) -> tuple[int, str, str]:
    for candidate in _INTEGER_TYPES:
        if bits is not None and bits <= candidate[0]:
            return candidate
    if bits is None:
        return _INTEGER_TYPES[-1]
    raise ValueError(f"Postgres has no integers of {bits} bits")


def _seconds_precision(precision: int | None) -> str:
    if precision is None:
        return ""
    if not 0 <= precision <= _MAX_SECONDS_PRECISION:
        raise ValueError(f"Postgres has no fractions of seconds with {precision} digits")
    return f" ({precision})"
