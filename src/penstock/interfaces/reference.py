"""The destination reference: what the entry point of a destination names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

from penstock.config import config_value, read_settings, resolve_configuration
from penstock.interfaces.configuration import DestinationClientConfiguration

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.interfaces.capabilities import DestinationCapabilitiesContext
    from penstock.interfaces.client import JobClientBase
    from penstock.schema import Schema

Configuration = TypeVar("Configuration", bound=DestinationClientConfiguration)
SECTION = "destination"


@runtime_checkable
class DestinationReference(Protocol):
    """A destination as it is registered: an object, or a module, with these functions."""

    def capabilities(self) -> DestinationCapabilitiesContext:
        """What the destination can do: job files, dispositions, lengths of names, escape functions."""

    def client(
        self,
        schema: Schema,
        initial_config: DestinationClientConfiguration = config_value,
        *,
        spark: SparkSession | None = None,
    ) -> JobClientBase:
        """A client for a schema; it may use the session as long as it is open.

        Without a configuration one is made from the settings (`configured`).
        """

    def spec(self) -> type[DestinationClientConfiguration]:
        """The class of its settings, credentials included."""


def configured(spec: type[Configuration], initial_config: Any) -> Configuration:
    """The configuration that was given, or one made from the settings in `[destination.<name>]`."""
    if isinstance(initial_config, spec):
        return initial_config
    name = spec.model_fields["destination_name"].default
    sections = (SECTION, name) if name else (SECTION,)
    return resolve_configuration(spec, settings=read_settings(), sections=sections)
