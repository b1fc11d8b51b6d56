"""Which state a job is in when its file stands in two folders: pure decisions.

A move is a put and then a delete, so a stop in between leaves two files of one job. The further one counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from penstock.errors import InvalidJobFileName
from penstock.interfaces.jobs import ParsedLoadJobFileName
from penstock.package.layout import COMPLETED_JOBS, FAILED_JOBS, NEW_JOBS, STARTED_JOBS, TJobState

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from penstock.package.entry import Entry

EXCEPTION = ".exception"
_RANK: Final[Mapping[TJobState, int]] = {NEW_JOBS: 0, STARTED_JOBS: 1, FAILED_JOBS: 2, COMPLETED_JOBS: 3}


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A job file in its folder."""

    state: TJobState
    name: ParsedLoadJobFileName
    size: int = 0
    modified: float = 0.0

    @property
    def path(self) -> str:
        """Relative to the package."""
        return f"{self.state}/{self.name.file_name()}"

    def further_than(self, other: Placed) -> bool:
        """Completed is final; else a later try counts for more, and within a try the later state."""
        return self._reach() > other._reach()

    def _reach(self) -> tuple[bool, int, int]:
        return (self.state == COMPLETED_JOBS, self.name.retry_count, _RANK[self.state])


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """Every job once, by its id, and the files that are left over from half-done moves."""

    jobs: Mapping[str, Placed]
    stale: tuple[Placed, ...] = ()
    unknown: tuple[str, ...] = field(default=())
    """Paths whose names are not those of job files."""

    def having(self, *states: TJobState) -> list[Placed]:
        """The jobs in the given states, sorted by file name."""
        found = (job for job in self.jobs.values() if job.state in states)
        return sorted(found, key=lambda job: job.name.file_name())


def board(listings: Mapping[TJobState, Iterable[Entry]]) -> Board:
    """What the four folders of a package say when taken together."""
    jobs: dict[str, Placed] = {}
    stale: list[Placed] = []
    unknown: list[str] = []
    for state, entries in listings.items():
        for entry in entries:
            if entry.is_folder or (state == FAILED_JOBS and entry.name.endswith(EXCEPTION)):
                continue
            try:
                name = ParsedLoadJobFileName.parse(entry.name)
            except InvalidJobFileName:
                unknown.append(f"{state}/{entry.name}")
                continue
            found = Placed(state=state, name=name, size=entry.size, modified=entry.modified)
            known = jobs.get(name.job_id())
            if known is None or found.further_than(known):
                jobs[name.job_id()] = found
                stale += [known] if known else []
            else:
                stale.append(found)
    return Board(jobs=jobs, stale=tuple(stale), unknown=tuple(unknown))
