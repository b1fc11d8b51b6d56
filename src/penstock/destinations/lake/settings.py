"""Where a lake is: the settings that all of them have."""

from __future__ import annotations

from typing import Self

from penstock.config import configspec
from penstock.errors import MissingLocation
from penstock.interfaces import DestinationClientDwhConfiguration
from penstock.package.storage import absolute


@configspec
class LakeConfiguration(DestinationClientDwhConfiguration):
    """The settings of a lake in folders."""

    bucket_url: str | None = None
    """The folder or bucket below which the datasets stand; with a catalog, the ledgers and packages."""

    def bound(
        self, *, pipeline_name: str, dataset_name: str, default_schema_name: str | None, master: str
    ) -> Self:
        """A location that is not set is a folder beside you; that only on a local Spark."""
        bound = super().bound(
            pipeline_name=pipeline_name,
            dataset_name=dataset_name,
            default_schema_name=default_schema_name,
            master=master,
        )
        if not self.bucket_url and not master.startswith("local"):
            raise MissingLocation(destination=self.destination_name or type(self).__name__, master=master)
        return bound.model_copy(update={"bucket_url": absolute(self.bucket_url or f"{pipeline_name}_lake")})
