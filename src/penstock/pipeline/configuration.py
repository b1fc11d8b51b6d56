"""How a pipeline is made: the `[pipelines]` section of the settings."""

from __future__ import annotations

import base64
import hashlib

from penstock.config import (
    BaseConfiguration,
    SecretText,
    TSecretStrValue,
    configspec,
    read_settings,
    resolve_configuration,
)
from penstock.errors import UsageError

_SECTION = "pipelines"


@configspec
class PipelineConfiguration(BaseConfiguration):
    """What `penstock.pipeline()` takes, where the call does not say it: `[pipelines.<name>]`, `[pipelines]`.

    >>> PipelineConfiguration().restore_from_destination
    True
    """

    pipeline_name: str | None = None
    pipelines_dir: str | None = None
    pipeline_salt: TSecretStrValue | None = None
    destination_type: str | None = None
    """The destination, by its registered name; `destination_name` counts before it."""
    destination_name: str | None = None
    staging_type: str | None = None
    staging_name: str | None = None
    dataset_name: str | None = None
    dataset_name_layout: str | None = None
    """What the dataset is called, with `%s` for its name: `%s_dataset` for those who come from dlt."""
    import_schema_path: str | None = None
    export_schema_path: str | None = None
    dev_mode: bool = False
    refresh: str | None = None
    progress: str | None = None
    restore_from_destination: bool = True
    """Whether state and schemas are those of the destination; False for those that this machine keeps."""

    def on_resolved(self) -> None:
        """Refuse a layout without a place for the name."""
        if self.dataset_name_layout is not None and self.dataset_name_layout.count("%s") != 1:
            raise UsageError(
                f"dataset_name_layout {self.dataset_name_layout!r} has no single place for the name",
                hint="write %s where the name goes, as in %s_dataset",
            )


def configuration_of(pipeline_name: str | None) -> PipelineConfiguration:
    """What the settings say of a pipeline, or of any that is not named."""
    sections = (_SECTION, pipeline_name) if pipeline_name else (_SECTION,)
    return resolve_configuration(PipelineConfiguration, settings=read_settings(), sections=sections)


def salt_of(pipeline_name: str, salt: str | None) -> str:
    """The salt that was said, else one that is made of the name: the same each time, and no secret.

    >>> salt_of("shop", None) == salt_of("shop", None) != salt_of("crm", None)
    True
    >>> salt_of("shop", "grain")
    ***
    """
    if salt is not None:
        return SecretText(salt)
    return base64.b64encode(hashlib.sha3_256(pipeline_name.encode()).digest()).decode()
