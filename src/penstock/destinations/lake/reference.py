"""What the registry finds under the name of a lake: its settings, what it can do, and its clients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from penstock.config import config_value
from penstock.destinations.lake.client import LakeClient
from penstock.destinations.lake.sets import Turns
from penstock.interfaces import DestinationClientDwhConfiguration, configured

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.interfaces import DestinationCapabilitiesContext, DestinationClientConfiguration
    from penstock.schema import Schema

Spec = TypeVar("Spec", bound=DestinationClientDwhConfiguration)
Told_contra = TypeVar("Told_contra", bound=DestinationClientDwhConfiguration, contravariant=True)
Client = TypeVar("Client", bound=LakeClient)
Opened_co = TypeVar("Opened_co", bound=LakeClient, covariant=True)


class Opens(Protocol[Told_contra, Opened_co]):
    """The class of a client."""

    def __call__(
        self,
        schema: Schema,
        config: Told_contra,
        capabilities: DestinationCapabilitiesContext,
        *,
        spark: SparkSession | None,
        turns: Turns,
    ) -> Opened_co:
        """Open a dataset."""


class LakeReference(Generic[Spec, Client]):
    """Tables in a table format; all clients of a process take turns."""

    def __init__(
        self,
        spec: type[Spec],
        client: Opens[Spec, Client],
        capabilities: DestinationCapabilitiesContext,
    ) -> None:
        self._spec, self._client, self._capabilities = spec, client, capabilities
        self._turns = Turns()

    def capabilities(self) -> DestinationCapabilitiesContext:
        """What the tables can do."""
        return self._capabilities

    def client(
        self,
        schema: Schema,
        initial_config: DestinationClientConfiguration = config_value,
        *,
        spark: SparkSession | None = None,
    ) -> Client:
        """A client for one dataset."""
        config = configured(self._spec, initial_config)
        return self._client(schema, config, self._capabilities, spark=spark, turns=self._turns)

    def spec(self) -> type[Spec]:
        """The class of its settings."""
        return self._spec
