"""Exceptions of schemas, by dlt's import path."""

from penstock.schema.exceptions import (
    CannotCoerceColumnException,
    CannotCoerceNullException,
    DataValidationError,
    InvalidSchemaName,
    ParentTableNotFoundException,
    SchemaCorruptedException,
    SchemaEngineNoUpgradePathException,
    SchemaIdentifierNormalizationCollision,
    TableIdentifiersFrozen,
    TableNotFound,
    TablePropertiesConflictException,
    UnboundColumnException,
)

__all__ = [
    "CannotCoerceColumnException",
    "CannotCoerceNullException",
    "DataValidationError",
    "InvalidSchemaName",
    "ParentTableNotFoundException",
    "SchemaCorruptedException",
    "SchemaEngineNoUpgradePathException",
    "SchemaIdentifierNormalizationCollision",
    "TableIdentifiersFrozen",
    "TableNotFound",
    "TablePropertiesConflictException",
    "UnboundColumnException",
]
