"""The destination reference of `filesystem`: each table names its own format.

A table without a format is plain files. As in dlt, `merge` without a strategy is an upsert where a table
format is named.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from penstock.destinations.delta.reference import DELTA
from penstock.destinations.filesystem.adapter import FilesystemClient
from penstock.destinations.filesystem.settings import FilesystemConfiguration
from penstock.destinations.lake.reference import LakeReference

_CAPABILITIES: Final = replace(
    DELTA.capabilities(),
    # Spark reads and writes plain files by itself.
    spark_needs=(),
    # The first one is dlt's default with a table format.
    supported_merge_strategies=("upsert", "insert-only", "delete-insert", "scd2"),
    preferred_table_format=None,
    supported_table_formats=("delta", "iceberg", "native"),
)
"""The capabilities of all formats together; plain files cannot be merged."""


class FilesystemReference(LakeReference[FilesystemConfiguration, FilesystemClient]):
    """Tables in folders, each in its own format."""

    def __init__(self) -> None:
        super().__init__(FilesystemConfiguration, FilesystemClient, _CAPABILITIES)


FILESYSTEM: Final = FilesystemReference()
