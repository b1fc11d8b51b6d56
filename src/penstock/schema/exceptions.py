"""Exceptions of schemas by the names of `dlt.common.schema.exceptions`, for programs that catch them.

Where penstock has another name, both are the same class; an error that cannot happen here is `NeverRaised`.
"""

from __future__ import annotations

from penstock.errors import (
    DataValidationError,
    InvalidSchemaName,
    NeverRaised,
    PenstockError,
    SchemaCorruptedException,
    SchemaEngineNoUpgradePath,
    TableNotFound,
    TablePropertiesConflictException,
    UnboundColumnException,
)

CannotCoerceColumnException = NeverRaised
CannotCoerceNullException = NeverRaised
DltException = PenstockError
ParentTableNotFoundException = TableNotFound
SchemaEngineNoUpgradePathException = SchemaEngineNoUpgradePath
SchemaException = PenstockError
SchemaIdentifierNormalizationCollision = NeverRaised
TableIdentifiersFrozen = NeverRaised
UnboundColumnWithoutTypeException = UnboundColumnException

__all__ = [
    "CannotCoerceColumnException",
    "CannotCoerceNullException",
    "DataValidationError",
    "DltException",
    "InvalidSchemaName",
    "ParentTableNotFoundException",
    "SchemaCorruptedException",
    "SchemaEngineNoUpgradePathException",
    "SchemaException",
    "SchemaIdentifierNormalizationCollision",
    "TableIdentifiersFrozen",
    "TableNotFound",
    "TablePropertiesConflictException",
    "UnboundColumnException",
    "UnboundColumnWithoutTypeException",
]
