"""What the registry finds under the name `iceberg`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from penstock.config import config_value
from penstock.destinations.delta.reference import DELTA
from penstock.destinations.iceberg.adapter import IcebergClient
from penstock.destinations.iceberg.settings import IcebergConfiguration
from penstock.destinations.lake.sets import Turns
from penstock.interfaces import configured

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.interfaces import DestinationCapabilitiesContext, DestinationClientConfiguration
    from penstock.schema import Schema

_CAPABILITIES: Final = replace(
    DELTA.capabilities(),
    spark_needs=("iceberg",),
    preferred_table_format="iceberg",
    supported_table_formats=("iceberg",),
)


class IcebergReference:
    """Iceberg tables in a catalog."""

    def __init__(self) -> None:
        self._turns = Turns()

    def capabilities(self) -> DestinationCapabilitiesContext:
        """What Iceberg tables can do: the same as Delta tables."""
        return _CAPABILITIES

    def client(
        self,
        schema: Schema,
        initial_config: DestinationClientConfiguration = config_value,
        *,
        spark: SparkSession | None = None,
    ) -> IcebergClient:
        """A client for one dataset."""
        config = configured(IcebergConfiguration, initial_config)
        return IcebergClient(schema, config, _CAPABILITIES, spark=spark, turns=self._turns)

    def spec(self) -> type[IcebergConfiguration]:
        """The class of its settings."""
        return IcebergConfiguration


ICEBERG: Final = IcebergReference()
