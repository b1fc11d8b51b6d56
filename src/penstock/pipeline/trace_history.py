"""The traces of the last runs, as JSON in the working folder."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from penstock.config import logger
from penstock.pipeline.trace import PipelineTrace, RunStart
from penstock.pipeline.workdir import write_json

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_LOG = logger("penstock.pipeline")
MAX_TRACES: Final = 100


@dataclass(frozen=True, slots=True)
class TraceHistory:
    """A folder with a file for each run; their names sort by time."""

    folder: Path

    def add(self, run: PipelineTrace | RunStart) -> None:
        """Write what is known of a run, and drop the oldest runs beyond those that are kept.

        A trace replaces the record of the start of its run. No run fails because of what is written about it.
        """
        name = f"{run.started_at:%Y%m%dT%H%M%S%f}-{run.transaction_id}.json"
        try:
            write_json(self.folder / name, run.asdict())
            for path in self._files()[:-MAX_TRACES]:
                path.unlink(missing_ok=True)
        except (OSError, ValueError, TypeError) as error:
            _LOG.warning("the trace of this run cannot be written to %s: %s", self.folder, error)

    def last(self) -> PipelineTrace | None:
        """The newest trace that can be read: that of the last run that has ended, well or not."""
        return next(self.traces(), None)

    def traces(self) -> Iterator[PipelineTrace]:
        """All traces that can be read."""
        return (run for run in self.runs() if isinstance(run, PipelineTrace))

    def runs(self) -> Iterator[PipelineTrace | RunStart]:
        """Return all runs, the newest first, also those that have not ended or never did."""
        for path in reversed(self._files()):
            run = _read_run(path)
            if run is not None:
                yield run

    def _files(self) -> list[Path]:
        return sorted(self.folder.glob("*.json"))


def _read_run(path: Path) -> PipelineTrace | RunStart | None:
    """A trace is a thing to look at: one that cannot be read must not stop a pipeline."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        kind = RunStart if document["finished_at"] is None else PipelineTrace
        return kind.from_dict(document)
    except (OSError, ValueError, KeyError, TypeError) as error:
        _LOG.warning("the trace %s cannot be read: %s", path, error)
        return None
