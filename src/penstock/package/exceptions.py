"""What packages raise, by the names that programs for dlt catch: those of `dlt.common.storages.exceptions`.

Where penstock has another name for the same, both mean one class; a name for what cannot happen here
means `NeverRaised`.
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
