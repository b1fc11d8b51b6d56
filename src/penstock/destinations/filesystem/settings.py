"""Where the folders are, under the names that dlt has for it."""

from __future__ import annotations

from typing import Annotated, Any

from penstock.config import NotResolved, configspec
from penstock.destinations.delta.settings import DeltaConfiguration


@configspec
class FilesystemConfiguration(DeltaConfiguration):
    """The settings of a bucket; those of `delta` hold here too.

    >>> FilesystemConfiguration(deltalake_configuration={"delta.appendOnly": "true"}).properties
    {'delta.appendOnly': 'true'}
    """

    destination_name: Annotated[str | None, NotResolved()] = "filesystem"

    deltalake_configuration: dict[str, Any] | None = None
    """dlt's word for `table_properties`."""

    @property
    def properties(self) -> dict[str, Any]:
        """The properties that all tables have, under both names."""
        return {**(self.deltalake_configuration or {}), **(self.table_properties or {})}
