"""Where the loads of a pipeline go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.config import Settings
    from penstock.interfaces import Destination, DestinationClient
    from penstock.pipeline.workdir import WorkDir


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where a pipeline's loads go."""

    pipeline_name: str
    dataset_name: str
    destination: Destination
    client: DestinationClient
    settings: Settings
    workdir: WorkDir
