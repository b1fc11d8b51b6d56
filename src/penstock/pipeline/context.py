"""A pipeline as it is known before its destination is: its names, its folders and its settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from penstock.errors import InvalidDatasetName
from penstock.interfaces.progress import Collector
from penstock.pipeline.schema_files import SchemaFiles
from penstock.pipeline.workdir import check_name
from penstock.schema import naming_convention
from penstock.schema.destination_names import DestinationNames
from penstock.schema.stored_schema import MAX_NAME_LENGTH

if TYPE_CHECKING:
    from datetime import datetime

    from penstock.interfaces import Destination
    from penstock.interfaces.frame_engine import FrameEngine
    from penstock.pipeline.settings import RunConfiguration
    from penstock.pipeline.workdir import WorkDir


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineContext:
    """The part of a pipeline that does not depend on its destination."""

    pipeline_name: str
    dataset_name: str
    workdir: WorkDir
    schema_files: SchemaFiles = field(default_factory=SchemaFiles)
    restore_from_destination: bool = True
    """Whether the destination is authoritative for state and schemas, and not this machine."""
    runtime: RunConfiguration | None = None
    """The settings of runs; None: resolved when a run begins."""
    collector: Collector = field(default_factory=Collector)
    frame_engine: FrameEngine | None = None
    """Writes and filters DataFrames of Spark during extraction."""

    @property
    def default_schema_name(self) -> str:
        """The schema of sources that name none: named as the pipeline, without a suffix `_pipeline`.

        >>> from pathlib import Path
        >>> from penstock.pipeline.workdir import WorkDir
        >>> names = {"pipeline_name": "MyShop-eu", "dataset_name": "shop"}
        >>> PipelineContext(**names, workdir=WorkDir(Path("shop"))).default_schema_name
        'my_shop_eu'
        """
        name = self.pipeline_name.removesuffix("_pipeline") or self.pipeline_name
        return naming_convention("snake_case", MAX_NAME_LENGTH).normalize_identifier(name)


def names_of(destination: Destination | None) -> DestinationNames:
    """Return the naming convention and the longest identifier of a destination.

    >>> names_of(None)
    DestinationNames(convention=None, max_length=None)
    """
    if destination is None:
        return DestinationNames()
    capabilities = destination.capabilities()
    return DestinationNames(
        convention=capabilities.naming_convention,
        max_length=min(capabilities.max_identifier_length, capabilities.max_column_identifier_length),
    )


def format_dataset_name(name: str, *, layout: str | None = None, dev_since: datetime | None = None) -> str:
    """Return the name of a dataset by its layout; in dev mode it has the moment the pipeline was created.

    >>> from datetime import datetime
    >>> format_dataset_name("lake", layout="%s_raw", dev_since=datetime(2024, 5, 6, 17, 8, 9))
    'lake_20240506170809_raw'
    """
    dated = name if dev_since is None else f"{name}_{dev_since:%Y%m%d%H%M%S}"
    return check_name((layout or "%s").replace("%s", dated), InvalidDatasetName)
