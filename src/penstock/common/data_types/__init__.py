"""Data types of columns, by dlt's import path."""

from penstock.compat.values import py_type_to_sc_type
from penstock.schema import DATA_TYPES
from penstock.schema import DataType as TDataType

__all__ = ["DATA_TYPES", "TDataType", "py_type_to_sc_type"]
