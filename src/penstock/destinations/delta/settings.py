"""Where a Delta lake is."""

from __future__ import annotations

import hashlib
from typing import Annotated, ClassVar, Self

from penstock.config import NotResolved, configspec, redact
from penstock.errors import MissingLocation
from penstock.interfaces import DestinationClientDwhConfiguration
from penstock.package.storage import absolute


@configspec
class DeltaConfiguration(DestinationClientDwhConfiguration):
    """The settings of one lake.

    `dlt.destinations.filesystem` is how dlt finds its own way to the same tables.
    """

    destination_type: ClassVar[str] = "dlt.destinations.filesystem"
    destination_name: Annotated[str | None, NotResolved()] = "delta"

    bucket_url: str | None = None
    """The folder or bucket below which the datasets stand."""

    def fingerprint(self) -> str:
        """A hash of the location; empty where none is set."""
        shown = redact(self.bucket_url) if self.bucket_url else ""
        return hashlib.shake_128(shown.encode()).hexdigest(8) if shown else ""

    def __str__(self) -> str:
        """The location without credentials."""
        return redact(self.bucket_url).rstrip("/") if self.bucket_url else "delta"

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
            raise MissingLocation(destination="delta", master=master)
        return bound.model_copy(update={"bucket_url": absolute(self.bucket_url or f"{pipeline_name}_lake")})
