"""The column types of DuckDB, which are those of dlt's tables there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from penstock.interfaces.capabilities import DataTypeMapper
from penstock.schema.types import DEFAULT_DECIMAL_SCALE, MAX_DECIMAL_PRECISION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.interfaces.capabilities import TLoaderFileFormat
    from penstock.schema import DataType, TColumnSchema, TTableSchema

_SIMPLE_TYPES: Final[Mapping[DataType, str]] = {
    "text": "VARCHAR",
    "double": "DOUBLE",
    "bool": "BOOLEAN",
    "binary": "BLOB",
    "json": "JSON",
    "date": "DATE",
    "time": "TIME",
}
_INTEGERS: Final[Mapping[int, str]] = {8: "TINYINT", 16: "SMALLINT", 32: "INTEGER", 64: "BIGINT"}
_NAIVE_TIMESTAMPS: Final[Mapping[int, str]] = {0: "TIMESTAMP_S", 3: "TIMESTAMP_MS", 9: "TIMESTAMP_NS"}
_DATA_TYPES: Final[Mapping[str, DataType]] = {
    **{name: data_type for data_type, name in _SIMPLE_TYPES.items()},
    **dict.fromkeys((*_INTEGERS.values(), "HUGEINT"), "bigint"),
    **dict.fromkeys((*_NAIVE_TIMESTAMPS.values(), "TIMESTAMP", "TIMESTAMP WITH TIME ZONE"), "timestamp"),
    "FLOAT": "double",
}


class DuckDbTypes(DataTypeMapper):
    """The type of each column, and the column of each type."""

    def to_destination_type(self, column: TColumnSchema, table: TTableSchema) -> str:
        """Return the type of a column."""
        del table
        precision = column.get("precision")
        match column["data_type"]:
            case "bigint":
                return next(
                    (name for bits, name in _INTEGERS.items() if (precision or 64) <= bits), "HUGEINT"
                )
            case "decimal":
                digits, scale = self.capabilities.decimal_precision
                return f"DECIMAL({precision or digits},{column.get('scale', scale)})"
            case "wei":
                return f"DECIMAL({MAX_DECIMAL_PRECISION},0)"
            case "timestamp" if column.get("timezone") is False:
                return _NAIVE_TIMESTAMPS.get(6 if precision is None else precision, "TIMESTAMP")
            case "timestamp":
                return "TIMESTAMP WITH TIME ZONE"
            case data_type:
                return _SIMPLE_TYPES[data_type]

    def from_destination_type(self, db_type: str, precision: int | None, scale: int | None) -> TColumnSchema:
        """Return the column of a type."""
        name = db_type.upper()
        if name.startswith("DECIMAL"):
            is_wei = precision == MAX_DECIMAL_PRECISION and scale == 0
            if is_wei:
                return {"data_type": "wei"}
            return {
                "data_type": "decimal",
                "precision": precision or MAX_DECIMAL_PRECISION,
                "scale": DEFAULT_DECIMAL_SCALE if scale is None else scale,
            }
        column: TColumnSchema = {"data_type": _DATA_TYPES.get(name, "text")}
        if column["data_type"] == "timestamp" and "ZONE" not in name:
            column["timezone"] = False
        return column

    def ensure_supported_type(
        self, column: TColumnSchema, table: TTableSchema, loader_file_format: TLoaderFileFormat
    ) -> None:
        """Raise `ValueError` for a decimal with more digits than DuckDB has."""
        del table, loader_file_format
        digits = column.get("precision") or 0
        if column["data_type"] == "decimal" and digits > MAX_DECIMAL_PRECISION:
            raise ValueError(f"DuckDB has decimals of at most {MAX_DECIMAL_PRECISION} digits, got {digits}")
