"""The eleven data types."""

from __future__ import annotations

from typing import Final, Literal, get_args

from penstock.errors import UsageError

DataType = Literal[
    "text", "double", "bool", "timestamp", "bigint", "binary", "json", "decimal", "wei", "date", "time"
]

DATA_TYPES: Final[tuple[DataType, ...]] = get_args(DataType)
TYPE_ALIASES: Final[dict[str, DataType]] = {"complex": "json"}

MAX_DECIMAL_PRECISION: Final = 38
DEFAULT_DECIMAL_SCALE: Final = 9
MIN_ADJUSTED_SCALE: Final = 6


def parse_data_type(name: str) -> DataType:
    """Return a data type by its name or by its name in older schemas."""
    data_type = TYPE_ALIASES.get(name, name)
    for candidate in DATA_TYPES:
        if candidate == data_type:
            return candidate
    raise UsageError(f"{name!r} is not a data type", hint=f"use one of {', '.join(DATA_TYPES)}")
