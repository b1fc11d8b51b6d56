"""A destination as a user names it: by its registered name, or with arguments."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from penstock.config import resolve_configuration
from penstock.interfaces.reference import SECTION
from penstock.interfaces.registry import find_destination

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from penstock.config import Settings
    from penstock.interfaces.capabilities import DestinationCapabilitiesContext
    from penstock.interfaces.client import JobClientBase
    from penstock.interfaces.configuration import DestinationClientConfiguration
    from penstock.interfaces.reference import DestinationReference
    from penstock.schema import Schema


@dataclass(frozen=True, slots=True)
class Destination:
    """A destination with the arguments the user gave it; nothing is opened yet.

    >>> Destination.from_reference("delta").destination_name
    'delta'
    """

    destination_name: str
    reference: DestinationReference
    arguments: Mapping[str, Any] = field(default_factory=dict)

    @property
    def capabilities(self) -> DestinationCapabilitiesContext:
        """What the destination can do."""
        return self.reference.capabilities()

    def configuration(
        self,
        settings: Settings,
        *,
        pipeline_name: str,
        dataset_name: str,
        master: str,
        default_schema_name: str | None = None,
    ) -> DestinationClientConfiguration:
        """The arguments completed from the settings and checked, for one dataset of one pipeline."""
        resolved = resolve_configuration(
            self.reference.spec(),
            settings=settings,
            sections=(SECTION, self.destination_name),
            pipeline_name=pipeline_name,
            explicit={"destination_name": self.destination_name, **self.arguments},
        )
        return resolved.bound(
            pipeline_name=pipeline_name,
            dataset_name=dataset_name,
            default_schema_name=default_schema_name,
            master=master,
        )

    def client(
        self, schema: Schema, config: DestinationClientConfiguration, *, spark: SparkSession | None = None
    ) -> JobClientBase:
        """A client for a schema; open it with `with`."""
        return self.reference.client(schema, config, spark=spark)

    def with_arguments(self, **arguments: Any) -> Destination:
        """The same destination with other arguments, such as credentials.

        >>> Destination.from_reference("delta").with_arguments(bucket_url="lake").arguments
        {'bucket_url': 'lake'}
        """
        return replace(self, arguments={**self.arguments, **arguments})

    @staticmethod
    def from_reference(reference: str | Destination) -> Destination:
        """A name means the destination without arguments."""
        if isinstance(reference, Destination):
            return reference
        return Destination(reference, find_destination(reference))
