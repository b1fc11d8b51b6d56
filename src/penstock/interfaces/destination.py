"""Destinations: the registered reference, the registry, and a destination with arguments."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

from penstock.config import config_value, read_settings, resolve_configuration
from penstock.errors import InvalidDestinationReference, UnknownDestination
from penstock.interfaces.configuration import DestinationClientConfiguration

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from penstock.config import Settings
    from penstock.interfaces.capabilities import DestinationCapabilitiesContext
    from penstock.interfaces.client import JobClientBase
    from penstock.schema import Schema


Configuration = TypeVar("Configuration", bound=DestinationClientConfiguration)
SECTION = "destination"


@runtime_checkable
class DestinationReference(Protocol):
    """A registered destination: an object or module with these functions."""

    def capabilities(self) -> DestinationCapabilitiesContext:
        """Return the capabilities: job files, dispositions, length of names, escape functions."""

    def client(
        self,
        schema: Schema,
        initial_config: DestinationClientConfiguration = config_value,
        *,
        spark: SparkSession | None = None,
    ) -> JobClientBase:
        """Return a client for a schema; it may use the session while it is open.

        Without a configuration, one is created from the settings (`configured`).
        """

    def spec(self) -> type[DestinationClientConfiguration]:
        """Return the class of its settings, including credentials."""


def configured(spec: type[Configuration], initial_config: Any) -> Configuration:
    """Return the given configuration, or one from the settings in `[destination.<name>]`."""
    if isinstance(initial_config, spec):
        return initial_config
    name = spec.model_fields["destination_name"].default
    sections = (SECTION, name) if name else (SECTION,)
    return resolve_configuration(spec, settings=read_settings(), sections=sections)


ENTRY_POINT_GROUP = "penstock.destinations"


def destination_names() -> tuple[str, ...]:
    """Return the names that `destination=` accepts on this machine."""
    return tuple(sorted(entry.name for entry in entry_points(group=ENTRY_POINT_GROUP)))


def find_destination(name: str) -> DestinationReference:
    """Load the destination that is registered under a name.

    >>> find_destination("delta").spec().__name__
    'DeltaConfiguration'
    """
    for entry in entry_points(group=ENTRY_POINT_GROUP, name=name):
        reference = entry.load()
        if not isinstance(reference, DestinationReference):
            raise InvalidDestinationReference(name=name, found=f"a {type(reference).__name__}")
        return reference
    raise UnknownDestination(name=name, known=destination_names())


@dataclass(frozen=True, slots=True)
class Destination:
    """A destination with its arguments; nothing is opened yet.

    >>> Destination.from_reference("delta").destination_name
    'delta'
    """

    destination_name: str
    reference: DestinationReference
    arguments: Mapping[str, Any] = field(default_factory=dict)

    @property
    def capabilities(self) -> DestinationCapabilitiesContext:
        """Return the capabilities."""
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
        """Return the arguments completed from the settings, for one dataset of one pipeline."""
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
        """Return a client for a schema; open it with `with`."""
        return self.reference.client(schema, config, spark=spark)

    def with_arguments(self, **arguments: Any) -> Destination:
        """Return the destination with other arguments, such as credentials.

        >>> Destination.from_reference("delta").with_arguments(bucket_url="lake").arguments
        {'bucket_url': 'lake'}
        """
        return replace(self, arguments={**self.arguments, **arguments})

    @staticmethod
    def from_reference(reference: str | Destination) -> Destination:
        """Return a destination; a name is a destination without arguments."""
        if isinstance(reference, Destination):
            return reference
        return Destination(reference, find_destination(reference))
