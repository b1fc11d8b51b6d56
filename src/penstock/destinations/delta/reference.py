"""What the registry finds under the name `delta`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from penstock.config import config_value
from penstock.destinations.delta.adapter import DeltaClient
from penstock.destinations.delta.settings import DeltaConfiguration
from penstock.destinations.lake.hints import STRATEGIES
from penstock.destinations.lake.sets import Turns
from penstock.interfaces import (
    DestinationCapabilitiesContext,
    DestinationClientConfiguration,
    configured,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.schema import Schema

_CAPABILITIES: Final = DestinationCapabilitiesContext(
    supported_write_dispositions=("append", "replace", "merge"),
    supported_merge_strategies=STRATEGIES,
    # In these words or in others, a replace is one atomic overwrite.
    supported_replace_strategies=("insert-from-staging", "truncate-and-insert", "staging-optimized"),
    max_identifier_length=255,
    max_column_identifier_length=255,
    has_case_sensitive_identifiers=False,
    spark_needs=("delta",),
    preferred_table_format="delta",
    supported_table_formats=("delta",),
    supports_nested_types=True,
    sqlglot_dialect="spark",
)


class DeltaReference:
    """Delta tables by path."""

    def __init__(self) -> None:
        self._turns = Turns()

    def capabilities(self) -> DestinationCapabilitiesContext:
        """What Delta tables can do."""
        return _CAPABILITIES

    def client(
        self,
        schema: Schema,
        initial_config: DestinationClientConfiguration = config_value,
        *,
        spark: SparkSession | None = None,
    ) -> DeltaClient:
        """A client for one dataset."""
        config = configured(DeltaConfiguration, initial_config)
        return DeltaClient(schema, config, _CAPABILITIES, spark=spark, turns=self._turns)

    def spec(self) -> type[DeltaConfiguration]:
        """The class of its settings."""
        return DeltaConfiguration


DELTA: Final = DeltaReference()
