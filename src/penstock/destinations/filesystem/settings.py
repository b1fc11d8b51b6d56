"""Where the folders are and what files are called, under the names that dlt has for it."""

from __future__ import annotations

from typing import Annotated, Any

from penstock.config import NotResolved, configspec
from penstock.destinations.delta.settings import DeltaConfiguration
from penstock.destinations.filesystem.file_format import FileFormat  # noqa: TC001 - pydantic reads it
from penstock.destinations.filesystem.layout import DEFAULT_LAYOUT
from penstock.destinations.iceberg.settings import IcebergConfiguration
from penstock.interfaces import DestinationClientDwhConfiguration


@configspec
class FilesystemConfiguration(DeltaConfiguration):
    """The settings of a bucket; those of `delta` hold here too.

    >>> FilesystemConfiguration(deltalake_configuration={"delta.appendOnly": "true"}).properties
    {'delta.appendOnly': 'true'}
    """

    destination_name: Annotated[str | None, NotResolved()] = "filesystem"

    deltalake_configuration: dict[str, Any] | None = None
    """dlt's word for `table_properties`."""
    iceberg: dict[str, Any] | None = None
    """The catalog of tables with `table_format="iceberg"`, in the words of `iceberg(...)`."""
    layout: str = DEFAULT_LAYOUT
    """What plain files are called below the folder of their dataset."""
    extra_placeholders: dict[str, Any] | None = None
    """More placeholders for the layout: values, or functions of schema, table, load, file and extension."""
    loader_file_format: FileFormat = "parquet"
    """What plain files are, where their table does not say."""
    disable_compression: bool = False
    """Whether JSON lines and CSV are written as they are, and not as `.gz`."""

    @property
    def properties(self) -> dict[str, Any]:
        """The properties that all tables have, under both names."""
        return {**(self.deltalake_configuration or {}), **(self.table_properties or {})}

    @property
    def iceberg_configuration(self) -> IcebergConfiguration | None:
        """The settings of Iceberg tables; they stand in the same dataset, and open by the same keys."""
        if self.iceberg is None:
            return None
        shared = {name: getattr(self, name) for name in DestinationClientDwhConfiguration.model_fields}
        shared |= {"bucket_url": self.bucket_url, "credentials": self.credentials}
        found = IcebergConfiguration(**self.iceberg).model_copy(update=shared)
        found.check_warehouse()
        return found

    @property
    def session_needs(self) -> tuple[str, ...]:
        """Iceberg, where it has a catalog."""
        return () if self.iceberg is None else ("iceberg",)

    @property
    def session_wishes(self) -> tuple[str, ...]:
        """Delta, for the tables that name it."""
        return ("delta",)

    def session_conf(self) -> dict[str, str]:
        """What a session must be told to know the catalog of Iceberg tables."""
        found = self.iceberg_configuration
        return {} if found is None else found.session_conf()
