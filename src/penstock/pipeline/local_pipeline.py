"""What this machine knows of its pipelines, without asking a destination."""

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
    "load",
)
"""One of these stands in the working folder of a pipeline that has done anything."""


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
        """Whether the pipeline has done anything on this machine."""
        return any((self.path / sign).exists() for sign in _WORKDIR_ENTRIES)

    @property
    def state(self) -> Mapping[str, Any] | None:
        """The state after the last load from here; None before the first one."""
        return WorkDir(self.path).state()

    @property
    def last_run(self) -> PipelineTrace | RunStart | None:
        """The last run, also one that is running or was killed; None before the first one."""
        return next(self.runs(), None)

    def runs(self) -> Iterator[PipelineTrace | RunStart]:
        """Return the last runs, the newest first."""
        return TraceHistory(self.path / "traces").runs()


def local_pipelines(folder: Path) -> Iterator[LocalPipeline]:
    """The pipelines whose working folders stand in a folder, by name."""
    if folder.is_dir():
        found = (LocalPipeline(path) for path in sorted(folder.iterdir()) if path.is_dir())
        yield from (one for one in found if one.exists)
