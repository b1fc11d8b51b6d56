"""The exceptions of packages under the names of `dlt.common.storages.exceptions`.

A name for an error that cannot occur here is an alias of `NeverRaised`.
"""

from __future__ import annotations

from penstock.errors import (
    CurrentLoadPackageStateNotAvailable,
    InvalidJobFileName,
    LoadPackageAlreadyCompleted,
    LoadPackageNotCompleted,
    LoadPackageNotFound,
    NeverRaised,
    SchemaNotFoundError,
    UnsupportedVersion,
)

InStorageSchemaModified = NeverRaised
JobFileFormatUnsupported = InvalidJobFileName
NoMigrationPathException = UnsupportedVersion
StorageMigrationError = UnsupportedVersion
WrongStorageVersionException = UnsupportedVersion

__all__ = [
    "CurrentLoadPackageStateNotAvailable",
    "InStorageSchemaModified",
    "JobFileFormatUnsupported",
    "LoadPackageAlreadyCompleted",
    "LoadPackageNotCompleted",
    "LoadPackageNotFound",
    "NoMigrationPathException",
    "SchemaNotFoundError",
    "StorageMigrationError",
    "WrongStorageVersionException",
]
