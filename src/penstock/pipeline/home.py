"""A pipeline as it is known before its destination is: its names, its folders, and how it was made."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from penstock.errors import InvalidDatasetName
from penstock.interfaces.progress import Collector
from penstock.pipeline.schemafiles import SchemaFiles
from penstock.pipeline.workdir import check_name

if TYPE_CHECKING:
    from datetime import datetime

    from penstock.pipeline.settings import RunConfiguration
    from penstock.pipeline.workdir import WorkDir


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineContext:
    """What stays the same, wherever a pipeline loads to."""

    pipeline_name: str
    dataset_name: str
    workdir: WorkDir
    schema_files: SchemaFiles = field(default_factory=SchemaFiles)
    restore_from_destination: bool = True
    """Whether state and schemas are those of the destination, and not those of this machine."""
    runtime: RunConfiguration | None = None
    """How a run behaves; None for what the settings say when it runs."""
    collector: Collector = field(default_factory=Collector)


def dataset_name_of(name: str, *, layout: str | None = None, dev_since: datetime | None = None) -> str:
    """What a dataset is called: its name, in dev mode with the moment that the pipeline was made.

    >>> from datetime import datetime
    >>> dataset_name_of("lake", layout="%s_raw", dev_since=datetime(2024, 5, 6, 17, 8, 9))
    'lake_20240506170809_raw'
    """
    dated = name if dev_since is None else f"{name}_{dev_since:%Y%m%d%H%M%S}"
    return check_name((layout or "%s").replace("%s", dated), InvalidDatasetName)
