"""The destination reference of a lake: its settings, its capabilities and its clients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from penstock.config import config_value
from penstock.destinations.lake.dataset import DatasetClient
from penstock.destinations.lake.merge_sets import ChainLocks
from penstock.interfaces import DestinationClientDwhConfiguration, configured

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.interfaces import DestinationCapabilitiesContext, DestinationClientConfiguration
    from penstock.schema import Schema

Spec = TypeVar("Spec", bound=DestinationClientDwhConfiguration)
Config_contra = TypeVar("Config_contra", bound=DestinationClientDwhConfiguration, contravariant=True)
Client = TypeVar("Client", bound=DatasetClient)
Client_co = TypeVar("Client_co", bound=DatasetClient, covariant=True)


class LakeClientFactory(Protocol[Config_contra, Client_co]):
    """The class of a client."""

    def __call__(
        self,
        schema: Schema,
        config: Config_contra,
        capabilities: DestinationCapabilitiesContext,
        *,
        spark: SparkSession | None,
        chain_locks: ChainLocks,
    ) -> Client_co:
        """Open a dataset."""


class LakeReference(Generic[Spec, Client]):
    """The reference of one format; all its clients in a process share the locks of chains."""

    def __init__(
        self,
        spec: type[Spec],
        client: LakeClientFactory[Spec, Client],
        capabilities: DestinationCapabilitiesContext,
    ) -> None:
        self.client_class = client
        """The class of the clients."""
        self._spec, self._capabilities = spec, capabilities
        self._chain_locks = ChainLocks()

    def capabilities(self) -> DestinationCapabilitiesContext:
        """Return the capabilities of the destination."""
        return self._capabilities

    def client(
        self,
        schema: Schema,
        initial_config: DestinationClientConfiguration = config_value,
        *,
        spark: SparkSession | None = None,
    ) -> Client:
        """Return a client for one dataset."""
        config = configured(self._spec, initial_config)
        return self.client_class(
            schema, config, self._capabilities, spark=spark, chain_locks=self._chain_locks
        )

    def spec(self) -> type[Spec]:
        """Return the class of the settings."""
        return self._spec
