"""Pipelines as this machine has them, without access to their destinations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from penstock.pipeline.trace import TraceHistory
from penstock.pipeline.workdir import WorkDir

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from penstock.pipeline.trace import PipelineTrace, RunStart

_WORKDIR_ENTRIES: Final = (
    "state.json",
    "local.json",
    "origin.json",
    "traces",
    "schemas",
    "extracted",
    "load/*/packages",
)
"""The working folder of a pipeline that was used contains at least one of these."""


@dataclass(frozen=True, slots=True)
class LocalPipeline:
    """The working folder of a pipeline."""

    path: Path

    @property
    def name(self) -> str:
        """The name of the pipeline."""
        return self.path.name

    @property
    def exists(self) -> bool:
        """Whether the pipeline was used on this machine."""
        return any(any(self.path.glob(entry)) for entry in _WORKDIR_ENTRIES)

    @property
    def state(self) -> Mapping[str, Any] | None:
        """The state after the last load from this machine; None before the first one."""
        return WorkDir(self.path).state()

    @property
    def last_run(self) -> PipelineTrace | RunStart | None:
        """The last run, also if it is still running or was killed; None before the first one."""
        return next(self.runs(), None)

    def runs(self) -> Iterator[PipelineTrace | RunStart]:
        """Return the last runs, newest first."""
        return TraceHistory(self.path / "traces").runs()


def local_pipelines(folder: Path) -> Iterator[LocalPipeline]:
    """Yield the pipelines whose working folders are in `folder`, by name."""
    if folder.is_dir():
        pipelines = (LocalPipeline(path) for path in sorted(folder.iterdir()) if path.is_dir())
        yield from (pipeline for pipeline in pipelines if pipeline.exists)
