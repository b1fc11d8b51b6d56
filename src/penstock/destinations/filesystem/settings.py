"""The settings of the filesystem destination, under dlt's names."""

from __future__ import annotations

from typing import Annotated, Any

from penstock.config import NotResolved, configspec
from penstock.destinations.delta.settings import DeltaConfiguration
from penstock.destinations.filesystem.layout import DEFAULT_LAYOUT
from penstock.destinations.iceberg.settings import IcebergConfiguration
from penstock.interfaces import DestinationClientDwhConfiguration, DestinationClientStagingConfiguration
from penstock.spark.file_format import FileFormat  # noqa: TC001 - pydantic reads it


@configspec
class FilesystemConfiguration(DeltaConfiguration, DestinationClientStagingConfiguration):
    """The settings of a bucket, with those of `delta`.

    >>> FilesystemConfiguration(deltalake_configuration={"delta.appendOnly": "true"}).properties
    {'delta.appendOnly': 'true'}
    """

    destination_name: Annotated[str | None, NotResolved()] = "filesystem"

    bucket_url: str | None = None  # type: ignore[assignment] # on a local Spark it has a default
    """The folder or bucket of the datasets."""
    deltalake_configuration: dict[str, Any] | None = None
    """dlt's name of `table_properties`."""
    iceberg: dict[str, Any] | None = None
    """The settings of tables with `table_format="iceberg"`, as `iceberg(...)` takes them."""
    layout: str = DEFAULT_LAYOUT
    """The template for the names of plain files below the folder of the dataset."""
    extra_placeholders: dict[str, Any] | None = None
    """More placeholders of the layout: values, or functions of schema, table, load, file and extension."""
    loader_file_format: FileFormat = "parquet"
    """The default format of plain files."""
    disable_compression: bool = False
    """Whether JSON lines and CSV are written without gzip."""

    @property
    def properties(self) -> dict[str, Any]:
        """The properties of all tables, under both names."""
        return {**(self.deltalake_configuration or {}), **(self.table_properties or {})}

    @property
    def iceberg_configuration(self) -> IcebergConfiguration | None:
        """The settings of Iceberg tables in the same dataset, with the same credentials."""
        if self.iceberg is None:
            return None
        shared = {name: getattr(self, name) for name in DestinationClientDwhConfiguration.model_fields}
        shared |= {"bucket_url": self.bucket_url, "credentials": self.credentials}
        config = IcebergConfiguration(**self.iceberg).model_copy(update=shared)
        config.check_warehouse()
        return config

    @property
    def loads_without_spark(self) -> bool:
        """No: Spark writes plain files."""
        return False

    @property
    def session_needs(self) -> tuple[str, ...]:
        """Iceberg, if a catalog is configured."""
        return () if self.iceberg is None else ("iceberg",)

    @property
    def session_wishes(self) -> tuple[str, ...]:
        """Delta, for tables with that format."""
        return ("delta",)

    def session_conf(self) -> dict[str, str]:
        """Return the session settings of the Iceberg catalog."""
        config = self.iceberg_configuration
        return {} if config is None else config.session_conf()
