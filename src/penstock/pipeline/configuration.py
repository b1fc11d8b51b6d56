"""The settings with which a pipeline is created: the section `[pipelines]`."""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING

from penstock.config import (
    BaseConfiguration,
    SecretText,
    TSecretStrValue,
    configspec,
    read_settings,
    resolve_configuration,
)
from penstock.errors import UsageError
from penstock.interfaces import Destination

if TYPE_CHECKING:
    from penstock.pipeline.types import TDestinationReferenceArg

_SECTION = "pipelines"


@configspec
class PipelineConfiguration(BaseConfiguration):
    """Defaults for the arguments of `penstock.pipeline()`: `[pipelines.<name>]`, `[pipelines]`.

    >>> PipelineConfiguration().restore_from_destination
    True
    """

    pipeline_name: str | None = None
    pipelines_dir: str | None = None
    pipeline_salt: TSecretStrValue | None = None
    destination_type: str | None = None
    """The registered name or the dotted path of the destination."""
    destination_name: str | None = None
    """The name of the destination, by which its settings are found; without a type it is the type too."""
    staging_type: str | None = None
    staging_name: str | None = None
    dataset_name: str | None = None
    dataset_name_layout: str | None = None
    """The name of the dataset with `%s` for `dataset_name`; `%s_dataset` is the layout of dlt."""
    import_schema_path: str | None = None
    export_schema_path: str | None = None
    dev_mode: bool = False
    refresh: str | None = None
    progress: str | None = None
    restore_from_destination: bool = True
    """Whether the destination is authoritative for state and schemas; False: this machine is."""

    def on_resolved(self) -> None:
        """Refuse a layout without exactly one `%s`."""
        if self.dataset_name_layout is not None and self.dataset_name_layout.count("%s") != 1:
            raise UsageError(
                f"dataset_name_layout {self.dataset_name_layout!r} must contain %s exactly once",
                hint="write %s where the name goes, as in %s_dataset",
            )


def resolve_pipeline_configuration(pipeline_name: str | None) -> PipelineConfiguration:
    """Return the settings of a pipeline; None: those of all pipelines."""
    sections = (_SECTION, pipeline_name) if pipeline_name else (_SECTION,)
    return resolve_configuration(PipelineConfiguration, settings=read_settings(), sections=sections)


def configured_destination(
    destination: TDestinationReferenceArg, destination_type: str | None, destination_name: str | None
) -> Destination | None:
    """Return the destination of an argument, or else of the settings; None where neither names one.

    >>> configured_destination(None, "delta", "lake").destination_description
    'lake (penstock.destinations.delta)'
    """
    if destination is not None:
        return Destination.from_reference(destination)
    reference = destination_type or destination_name
    if reference is None:
        return None
    return Destination.from_reference(reference, destination_name=destination_name)


def resolve_salt(pipeline_name: str, salt: str | None) -> str:
    """Return the given salt; without one, a hash of the name, which is stable and no secret.

    >>> resolve_salt("shop", None) == resolve_salt("shop", None) != resolve_salt("crm", None)
    True
    >>> resolve_salt("shop", "grain")
    ***
    """
    if salt is not None:
        return SecretText(salt)
    return base64.b64encode(hashlib.sha3_256(pipeline_name.encode()).digest()).decode()
