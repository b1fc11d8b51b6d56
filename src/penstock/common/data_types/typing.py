"""The names of data types, by dlt's import path."""

from penstock.schema import DATA_TYPES
from penstock.schema import DataType as TDataType

__all__ = ["DATA_TYPES", "TDataType"]
