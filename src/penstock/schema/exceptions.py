"""What schemas raise, by the names that programs for dlt catch: those of `dlt.common.schema.exceptions`.

Where penstock has another name for the same, both mean one class; a name for what cannot happen here
means `NeverRaised`.
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
