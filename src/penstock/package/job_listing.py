"""Which state a job is in when its file stands in two folders: pure decisions.

A move is a put and then a delete, so a stop in between leaves two files of one job. The further one counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from penstock.errors import InvalidJobFileName
from penstock.interfaces.job_file_name import ParsedLoadJobFileName
from penstock.package.layout import COMPLETED_JOBS, FAILED_JOBS, NEW_JOBS, STARTED_JOBS, TJobState

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from penstock.package.files import DirEntry

EXCEPTION_SUFFIX = ".exception"
_STATE_RANK: Final[Mapping[TJobState, int]] = {
    NEW_JOBS: 0,
    STARTED_JOBS: 1,
    FAILED_JOBS: 2,
    COMPLETED_JOBS: 3,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedJob:
    """A job file in its folder."""

    state: TJobState
    name: ParsedLoadJobFileName
    size: int = 0
    modified: float = 0.0

    @property
    def path(self) -> str:
        """Relative to the package."""
        return f"{self.state}/{self.name.file_name()}"

    def supersedes(self, other: ListedJob) -> bool:
        """Completed is final; else a later try counts for more, and within a try the later state."""
        return self._rank() > other._rank()

    def _rank(self) -> tuple[bool, int, int]:
        return (self.state == COMPLETED_JOBS, self.name.retry_count, _STATE_RANK[self.state])


@dataclass(frozen=True, slots=True, kw_only=True)
class JobListing:
    """Every job once, by its id, and the files that are left over from half-done moves."""

    jobs: Mapping[str, ListedJob]
    stale: tuple[ListedJob, ...] = ()
    unknown: tuple[str, ...] = field(default=())
    """Paths whose names are not those of job files."""

    def in_state(self, *states: TJobState) -> list[ListedJob]:
        """The jobs in the given states, sorted by file name."""
        found = (job for job in self.jobs.values() if job.state in states)
        return sorted(found, key=lambda job: job.name.file_name())


def merge_listings(listings: Mapping[TJobState, Iterable[DirEntry]]) -> JobListing:
    """What the four folders of a package say when taken together."""
    jobs: dict[str, ListedJob] = {}
    stale: list[ListedJob] = []
    unknown: list[str] = []
    for state, entries in listings.items():
        for entry in entries:
            if entry.is_folder or (state == FAILED_JOBS and entry.name.endswith(EXCEPTION_SUFFIX)):
                continue
            try:
                name = ParsedLoadJobFileName.parse(entry.name)
            except InvalidJobFileName:
                unknown.append(f"{state}/{entry.name}")
                continue
            found = ListedJob(state=state, name=name, size=entry.size, modified=entry.modified)
            known = jobs.get(name.job_id())
            if known is None or found.supersedes(known):
                jobs[name.job_id()] = found
                stale += [known] if known else []
            else:
                stale.append(found)
    return JobListing(jobs=jobs, stale=tuple(stale), unknown=tuple(unknown))
