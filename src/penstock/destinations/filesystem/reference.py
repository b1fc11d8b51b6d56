"""The destination reference of `filesystem`: each table names its own format.

A table without a format is plain files. As in dlt, `merge` without a strategy is an upsert where a table
format is named.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from penstock.destinations.delta.reference import DELTA
from penstock.destinations.filesystem.adapter import FilesystemClient
from penstock.destinations.filesystem.settings import FilesystemConfiguration
from penstock.destinations.lake.reference import LakeReference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.interfaces import TLoaderFileFormat
    from penstock.schema import TTableSchema


def _file_formats(
    preferred: TLoaderFileFormat, supported: Sequence[TLoaderFileFormat], *, table_schema: TTableSchema
) -> tuple[TLoaderFileFormat, Sequence[TLoaderFileFormat]]:
    """Return the file formats of a table; those of a table format are fixed."""
    is_plain = table_schema.get("table_format") in (None, "native")
    return preferred, supported if is_plain else DELTA.capabilities().supported_loader_file_formats


_CAPABILITIES: Final = replace(
    DELTA.capabilities(),
    # Spark reads and writes plain files by itself.
    spark_needs=(),
    # The first one is dlt's default with a table format.
    supported_merge_strategies=("upsert", "insert-only", "delete-insert", "scd2"),
    preferred_table_format=None,
    supported_table_formats=("delta", "iceberg", "native"),
    supported_loader_file_formats=("reference", "sql", "parquet", "jsonl", "csv"),
    loader_file_format_selector=_file_formats,
)
"""The capabilities of all formats together; plain files cannot be merged."""


class FilesystemReference(LakeReference[FilesystemConfiguration, FilesystemClient]):
    """Tables in folders, each in its own format."""

    def __init__(self) -> None:
        super().__init__(FilesystemConfiguration, FilesystemClient, _CAPABILITIES)


FILESYSTEM: Final = FilesystemReference()
