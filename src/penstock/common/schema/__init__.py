"""Schemas, by dlt's import path."""

from penstock.compat.types import TTableSchemaColumns
from penstock.errors import DataValidationError
from penstock.schema import COLUMN_HINTS, Schema, TColumnSchema, TSchemaTables, TStoredSchema, TTableSchema

__all__ = [
    "COLUMN_HINTS",
    "DataValidationError",
    "Schema",
    "TColumnSchema",
    "TSchemaTables",
    "TStoredSchema",
    "TTableSchema",
    "TTableSchemaColumns",
]
