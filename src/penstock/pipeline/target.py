"""Where the loads of a pipeline go."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from penstock.interfaces.progress import Collector
from penstock.pipeline.schemafiles import SchemaFiles
from penstock.schema import Schema, naming_convention
from penstock.schema.stored_schema import MAX_NAME_LENGTH

if TYPE_CHECKING:
    from penstock.config import Settings
    from penstock.interfaces import Destination, DestinationClientConfiguration, JobClientBase
    from penstock.pipeline.settings import RunConfiguration
    from penstock.pipeline.workdir import WorkDir


def default_schema_name(pipeline_name: str) -> str:
    """The name of the schema of a pipeline whose sources name none.

    >>> default_schema_name("MyShop-eu")
    'my_shop_eu'
    """
    return naming_convention("snake_case", MAX_NAME_LENGTH).normalize_identifier(pipeline_name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One dataset of one destination, as one pipeline sees it."""

    pipeline_name: str
    dataset_name: str
    default_schema_name: str
    destination: Destination
    config: DestinationClientConfiguration
    settings: Settings
    workdir: WorkDir
    collector: Collector = field(default_factory=Collector)
    staging: str | None = None
    """The bucket in which packages are kept, where it is not that of the destination."""
    staging_name: str | None = None
    """The name of the destination that has this bucket."""
    schema_files: SchemaFiles = field(default_factory=SchemaFiles)
    restore_from_destination: bool = True
    """Whether state and schemas are those of the destination, and not those of this machine."""
    runtime: RunConfiguration | None = None
    """How a run behaves; None for what the settings say."""

    @property
    def destination_type(self) -> str:
        """How the state names the destination."""
        return self.config.destination_type or self.destination.destination_name

    def client(self, schema_name: str | None = None) -> JobClientBase:
        """A client without a session: for what the destination knows, not for writing."""
        return self.destination.client(Schema(schema_name or self.default_schema_name), self.config)
