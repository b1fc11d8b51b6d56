"""What the registry finds under the name `filesystem`: each table says its format itself.

A table without a format is plain files. Where a table format is named, `merge` without a strategy is an
upsert, as in dlt.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from penstock.config import config_value
from penstock.destinations.delta.reference import DELTA
from penstock.destinations.filesystem.adapter import FilesystemClient
from penstock.destinations.filesystem.settings import FilesystemConfiguration
from penstock.destinations.lake.merge_sets import ChainLocks
from penstock.interfaces import configured

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.interfaces import DestinationCapabilitiesContext, DestinationClientConfiguration
    from penstock.schema import Schema

_CAPABILITIES: Final = replace(
    DELTA.capabilities(),
    # Plain files are nothing that Spark does not know.
    spark_needs=(),
    # The first one is what dlt does with a table format where nothing is said.
    supported_merge_strategies=("upsert", "insert-only", "delete-insert", "scd2"),
    preferred_table_format=None,
    supported_table_formats=("delta", "iceberg", "native"),
)


class FilesystemReference:
    """Tables in folders, each in the format that it names."""

    def __init__(self) -> None:
        self._chain_locks = ChainLocks()

    def capabilities(self) -> DestinationCapabilitiesContext:
        """What all kinds of tables together can do; plain files cannot be merged."""
        return _CAPABILITIES

    def client(
        self,
        schema: Schema,
        initial_config: DestinationClientConfiguration = config_value,
        *,
        spark: SparkSession | None = None,
    ) -> FilesystemClient:
        """A client for one dataset."""
        config = configured(FilesystemConfiguration, initial_config)
        return FilesystemClient(schema, config, _CAPABILITIES, spark=spark, chain_locks=self._chain_locks)

    def spec(self) -> type[FilesystemConfiguration]:
        """The class of its settings."""
        return FilesystemConfiguration


FILESYSTEM: Final = FilesystemReference()
