"""The destination of a pipeline with its resolved settings; opening it starts nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from penstock.config import read_settings, redact
from penstock.errors import UsageError
from penstock.interfaces import (
    DestinationClientDwhConfiguration,
    DestinationClientDwhWithStagingConfiguration,
    DestinationClientStagingConfiguration,
    WithPackageStorage,
)
from penstock.interfaces.capabilities import check_capabilities
from penstock.interfaces.table_strategies import check_replace_strategy
from penstock.schema import Schema
from penstock.spark.paths import local_path
from penstock.spark.session import target_master

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.config import Settings
    from penstock.interfaces import Destination, DestinationClientConfiguration, JobClientBase
    from penstock.pipeline.context import PipelineContext

_PACKAGES_FOLDER: Final = "_dlt_pkg"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One dataset of one destination, as one pipeline sees it."""

    pipeline: PipelineContext
    destination: Destination
    config: DestinationClientConfiguration
    settings: Settings
    staging: Destination | None = None
    """The staging destination; None where packages are not staged."""
    staging_bucket: str | None = None
    """The bucket of the staging destination, in which packages are stored."""

    @property
    def destination_type(self) -> str:
        """The type of the destination in the state."""
        return self.config.destination_type or self.destination.to_name(self.destination.destination_type)

    def displayable_facts(self, location: str) -> dict[str, Any]:
        """Return the facts of the destination that results show, without secrets."""
        return {
            "destination_name": self.destination.destination_name,
            "destination_type": self.destination.destination_type,
            "environment": self.destination.environment,
            "destination_displayable_credentials": str(self.config),
            "destination_fingerprint": self.config.fingerprint(),
            "dataset_name": self.pipeline.dataset_name,
            "location": location,
            "staging_name": self.staging and self.staging.destination_name,
            "staging_type": self.staging and self.staging.destination_type,
            "staging_displayable_credentials": self.staging_bucket and redact(self.staging_bucket),
        }

    def client(self, schema_name: str | None = None) -> JobClientBase:
        """Return a client without a session: it reads what the destination stores, and writes nothing."""
        schema = Schema(schema_name or self.pipeline.default_schema_name)
        return self.destination.client(schema, self.config)


def open_target(
    destination: Destination,
    context: PipelineContext,
    *,
    spark: SparkSession | None,
    staging: Destination | None = None,
) -> Target:
    """Resolve the settings of a destination for a pipeline; nothing is connected or started."""
    check_capabilities(destination.capabilities(), destination.destination_name)
    settings = read_settings()
    names = {"pipeline_name": context.pipeline_name, "dataset_name": context.dataset_name}
    master = target_master(spark, settings)
    config = destination.configuration(settings, **names, master=master)
    if isinstance(config, DestinationClientDwhConfiguration):
        check_replace_strategy(
            destination.capabilities(), config.replace_strategy, destination.destination_name
        )
        # Fixed here: later schemas may have other naming conventions, and mean the same dataset.
        name = config.normalize_dataset_name(Schema(context.default_schema_name))
        config = config.model_copy(update={"dataset_name": name})
    if staging is None:
        return Target(pipeline=context, destination=destination, config=config, settings=settings)
    staging_config = staging.configuration(settings, **names, master=master)
    config = with_staging(config, staging_config)
    return Target(
        pipeline=context,
        destination=destination,
        config=config,
        settings=settings,
        staging=staging,
        staging_bucket=staging_bucket(staging_config, config),
    )


def package_root(target: Target, client: JobClientBase, *, master: str) -> str:
    """Return the folder of packages: in the staging bucket, by the settings, at the destination, or local."""
    root = _chosen_root(target, client, master=master)
    if target.destination.capabilities().needs_local_packages and local_path(root) is None:
        name = target.destination.destination_name
        raise UsageError(
            f"the {name} destination reads packages by paths, and they would be in {root}",
            hint=f"set DESTINATION__{name.upper()}__PACKAGE_STORAGE to a folder that all machines share",
        )
    return root


def _chosen_root(target: Target, client: JobClientBase, *, master: str) -> str:
    pipeline, name = target.pipeline, target.destination.destination_name
    if target.staging_bucket is not None:
        return f"{target.staging_bucket}/{pipeline.dataset_name}/{_PACKAGES_FOLDER}/{pipeline.pipeline_name}"
    storage = target.settings.get("destination", name, key="package_storage")
    if storage is not None:
        return f"{str(storage).rstrip('/')}/{pipeline.dataset_name}/{pipeline.pipeline_name}"
    if isinstance(client, WithPackageStorage):
        return client.package_root(pipeline.pipeline_name)
    if not master.startswith("local"):
        raise UsageError(
            f"the {name} destination cannot store packages, and Spark runs on {master}, "
            "which does not see a local folder",
            hint=f"set DESTINATION__{name.upper()}__PACKAGE_STORAGE to storage that all machines reach",
        )
    return str(pipeline.workdir.load_folder(pipeline.dataset_name))


def staging_bucket(
    staging: DestinationClientConfiguration, destination: DestinationClientConfiguration
) -> str:
    """Return the bucket of a staging destination; the credentials of the destination must open it."""
    bucket = staging.storage_location
    if not bucket:
        raise UsageError(
            f"{staging.destination_name} cannot be used for staging: it has no bucket",
            hint="give staging= a destination with files, such as filesystem(bucket_url=...)",
        )
    credentials = staging.storage_credentials
    if credentials is not None and credentials != destination.storage_credentials:
        raise UsageError(
            f"staging at {staging} has credentials that {destination.destination_name} does not have",
            hint="give the destination the same credentials: tables and packages are opened with one set",
        )
    return bucket.rstrip("/")


def with_staging(
    config: DestinationClientConfiguration, staging: DestinationClientConfiguration
) -> DestinationClientConfiguration:
    """Return the settings of a destination with those of its staging, where it has a field for them."""
    if not isinstance(config, DestinationClientDwhWithStagingConfiguration):
        return config
    fields: dict[str, Any] = {"as_staging": True, "bucket_url": staging.storage_location}
    if isinstance(staging, DestinationClientStagingConfiguration):
        staging_config = staging.model_copy(update=fields)
    else:
        staging_config = DestinationClientStagingConfiguration(
            destination_name=staging.destination_name, **fields
        )
    return config.model_copy(update={"staging_config": staging_config})
