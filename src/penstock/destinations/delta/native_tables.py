"""Delta tables by path, opened by the library `deltalake`, without Spark."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

from penstock.config import AwsCredentials
from penstock.destinations.delta.file_commit_plan import library_address
from penstock.errors import MissingExtra, UsageError
from penstock.spark.s3 import object_store_options, s3_bucket

if TYPE_CHECKING:
    from deltalake import DeltaTable

    from penstock.package.storage import FileStorage

    NativeDeltaTable: TypeAlias = DeltaTable


def open_delta_table(
    table: str,
    store: FileStorage,
    credentials: AwsCredentials | None,
    *,
    needed_for: str,
    version: int | None = None,
) -> NativeDeltaTable:
    """Open a table at a version, by default the newest; raise if the library does not open its path."""
    address = library_address(store.path(table))
    if address is None:
        raise UsageError(
            f"deltalake does not open the path of table {table}, because of its special characters",
            hint="read the table by pipeline.dataset()",
            table=table,
        )
    try:
        library: Any = import_module("deltalake")
    except ModuleNotFoundError as error:
        raise MissingExtra(extra="delta", needed_for=needed_for) from error
    opened: NativeDeltaTable = library.DeltaTable(
        address, version=version, storage_options=read_options(store.root, credentials)
    )
    return opened


def read_options(location: str, credentials: AwsCredentials | None) -> dict[str, str] | None:
    """Return the storage options of a location, on S3 with the keys of the settings or of the machine.

    >>> read_options("/lake/shop", None) is None
    True
    """
    if s3_bucket(location) is None:
        return None
    return object_store_options(location, (credentials or AwsCredentials()).with_machine_keys())
