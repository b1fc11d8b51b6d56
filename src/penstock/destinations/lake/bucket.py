"""Where a lake is, and by which keys it is opened: by penstock itself and by Spark."""

from __future__ import annotations

from penstock.config import AwsCredentials, configspec
from penstock.interfaces import DestinationClientDwhConfiguration


@configspec
class BucketConfiguration(DestinationClientDwhConfiguration):
    """The settings of a folder or a bucket, for tables and packages at once.

    >>> BucketConfiguration(bucket_url="s3://lake", credentials={"region_name": "eu-west-1"}).credentials
    AwsCredentials(region_name='eu-west-1')
    """

    bucket_url: str | None = None
    """The folder or bucket below which the datasets stand; with a catalog, the ledgers and packages."""
    credentials: AwsCredentials | None = None
    """The keys of the bucket, and of that of `package_storage`; None for those of the machine."""

    @property
    def storage_location(self) -> str | None:
        """The folder or bucket."""
        return self.bucket_url

    @property
    def storage_credentials(self) -> AwsCredentials | None:
        """The keys of the bucket."""
        return self.credentials
