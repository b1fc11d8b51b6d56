"""The traces of the last runs, as JSON in the working folder."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from penstock.config import logger
from penstock.pipeline.trace import PipelineTrace
from penstock.pipeline.workdir import write_json

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_LOG = logger("penstock.pipeline")
MOST_TRACES: Final = 100


@dataclass(frozen=True, slots=True)
class History:
    """A folder with a file for each run; their names sort by time."""

    folder: Path

    def add(self, trace: PipelineTrace) -> None:
        """Write a trace and drop the oldest beyond those that are kept.

        A run that is over is not made to fail by what is written about it.
        """
        name = f"{trace.started_at:%Y%m%dT%H%M%S%f}-{trace.transaction_id}.json"
        try:
            write_json(self.folder / name, trace.asdict())
            for path in self._files()[:-MOST_TRACES]:
                path.unlink(missing_ok=True)
        except (OSError, ValueError, TypeError) as error:
            _LOG.warning("the trace of this run cannot be written to %s: %s", self.folder, error)

    def last(self) -> PipelineTrace | None:
        """The newest trace that can be read."""
        return next(self.newest_first(), None)

    def newest_first(self) -> Iterator[PipelineTrace]:
        """All traces that can be read."""
        for path in reversed(self._files()):
            found = _read(path)
            if found is not None:
                yield found

    def _files(self) -> list[Path]:
        return sorted(self.folder.glob("*.json"))


def _read(path: Path) -> PipelineTrace | None:
    """A trace is a thing to look at: one that cannot be read must not stop a pipeline."""
    try:
        return PipelineTrace.from_dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError) as error:
        _LOG.warning("the trace %s cannot be read: %s", path, error)
        return None
