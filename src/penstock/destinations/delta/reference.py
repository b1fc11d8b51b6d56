"""The destination reference of `delta`."""

from __future__ import annotations

from typing import Final

from penstock.destinations.delta.adapter import DeltaClient
from penstock.destinations.delta.settings import DeltaConfiguration
from penstock.destinations.lake.hints import STRATEGIES
from penstock.destinations.lake.reference import LakeReference
from penstock.interfaces import DestinationCapabilitiesContext

_CAPABILITIES: Final = DestinationCapabilitiesContext(
    supported_write_dispositions=("append", "replace", "merge"),
    supported_merge_strategies=STRATEGIES,
    # Every strategy is one atomic overwrite.
    supported_replace_strategies=("insert-from-staging", "truncate-and-insert", "staging-optimized"),
    max_identifier_length=255,
    max_column_identifier_length=255,
    has_case_sensitive_identifiers=False,
    spark_needs=("delta",),
    # The files of the tables are Parquet.
    supported_loader_file_formats=("reference", "sql", "parquet"),
    preferred_table_format="delta",
    supported_table_formats=("delta",),
    supports_nested_types=True,
    renews_tables=True,
    sqlglot_dialect="spark",
)


class DeltaReference(LakeReference[DeltaConfiguration, DeltaClient]):
    """Delta tables, by path or in a catalog."""

    def __init__(self) -> None:
        super().__init__(DeltaConfiguration, DeltaClient, _CAPABILITIES)


DELTA: Final = DeltaReference()
