"""The settings of every lake: its location and its credentials."""

from __future__ import annotations

from typing import Self

from penstock.config import AwsCredentials, configspec
from penstock.errors import MissingLocation
from penstock.interfaces import DestinationClientDwhConfiguration
from penstock.package.storage import absolute_path


@configspec
class LakeConfiguration(DestinationClientDwhConfiguration):
    """The settings of a folder or a bucket, for tables and packages.

    >>> LakeConfiguration(bucket_url="s3://lake", credentials={"region_name": "eu-west-1"}).credentials
    AwsCredentials(region_name='eu-west-1')
    """

    bucket_url: str | None = None
    """The folder or bucket of the datasets; with a catalog, of the ledgers and packages."""
    credentials: AwsCredentials | None = None
    """The credentials of the bucket, and of that of `package_storage`; None for those of the machine."""

    @property
    def storage_location(self) -> str | None:
        """The folder or bucket."""
        return self.bucket_url

    @property
    def storage_credentials(self) -> AwsCredentials | None:
        """The credentials of the bucket."""
        return self.credentials

    def bound(
        self, *, pipeline_name: str, dataset_name: str, default_schema_name: str | None, master: str
    ) -> Self:
        """Resolve the location; on a local Spark it defaults to a folder in the working directory."""
        bound = super().bound(
            pipeline_name=pipeline_name,
            dataset_name=dataset_name,
            default_schema_name=default_schema_name,
            master=master,
        )
        if not self.bucket_url and not master.startswith("local"):
            raise MissingLocation(destination=self.destination_name or type(self).__name__, master=master)
        return bound.model_copy(
            update={"bucket_url": absolute_path(self.bucket_url or f"{pipeline_name}_lake")}
        )
