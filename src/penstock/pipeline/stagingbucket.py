"""What `staging=` means: the bucket of that destination is where packages are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.errors import UsageError
from penstock.interfaces import (
    DestinationClientDwhWithStagingConfiguration,
    DestinationClientStagingConfiguration,
)

if TYPE_CHECKING:
    from penstock.interfaces import DestinationClientConfiguration


def staging_bucket(
    staging: DestinationClientConfiguration, destination: DestinationClientConfiguration
) -> str:
    """The bucket of a staging destination. The keys of the destination open it."""
    bucket = _bucket(staging)
    if not bucket:
        raise UsageError(
            f"{staging.destination_name} cannot be used for staging: it has no bucket",
            hint="give staging= a destination with files, such as filesystem(bucket_url=...)",
        )
    keys = staging.storage_credentials
    if keys is not None and keys != destination.storage_credentials:
        raise UsageError(
            f"staging at {staging} has keys that {destination.destination_name} does not have",
            hint="give the destination the same credentials: one set of keys opens tables and packages",
        )
    return bucket.rstrip("/")


def with_staging(
    config: DestinationClientConfiguration, staging: DestinationClientConfiguration
) -> DestinationClientConfiguration:
    """The settings of a destination, told where files are staged if it wants to know."""
    if not isinstance(config, DestinationClientDwhWithStagingConfiguration):
        return config
    told: dict[str, Any] = {"as_staging": True, "bucket_url": _bucket(staging)}
    if isinstance(staging, DestinationClientStagingConfiguration):
        found = staging.model_copy(update=told)
    else:
        found = DestinationClientStagingConfiguration(destination_name=staging.destination_name, **told)
    return config.model_copy(update={"staging_config": found})


def _bucket(staging: DestinationClientConfiguration) -> str | None:
    if isinstance(staging, DestinationClientStagingConfiguration):
        return staging.bucket_url
    return staging.storage_location
