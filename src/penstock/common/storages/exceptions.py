"""Exceptions of storages, by dlt's import path."""

from penstock.package.exceptions import (
    CurrentLoadPackageStateNotAvailable,
    InStorageSchemaModified,
    JobFileFormatUnsupported,
    LoadPackageAlreadyCompleted,
    LoadPackageNotCompleted,
    LoadPackageNotFound,
    NoMigrationPathException,
    SchemaNotFoundError,
    StorageMigrationError,
    WrongStorageVersionException,
)

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
