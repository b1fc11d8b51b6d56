"""Exceptions of schemas by the names of `dlt.common.schema.exceptions`, for programs that catch them.

Where penstock has another name, both are the same class; an error that cannot happen here is `NeverRaised`.
"""

from __future__ import annotations

from penstock.errors import (
    DataValidationError,
    InvalidSchemaName,
    NeverRaised,
    SchemaCorruptedException,
    SchemaEngineNoUpgradePath,
    TableNotFound,
    TablePropertiesConflictException,
    UnboundColumnException,
)

CannotCoerceColumnException = NeverRaised
CannotCoerceNullException = NeverRaised
ParentTableNotFoundException = TableNotFound
SchemaEngineNoUpgradePathException = SchemaEngineNoUpgradePath
SchemaIdentifierNormalizationCollision = NeverRaised
TableIdentifiersFrozen = NeverRaised

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
