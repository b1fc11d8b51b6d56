"""The job files of one package and their moves: each is a put that counts, then a delete that tidies."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from penstock.errors import InvalidJobFileName, JobNotFound, LoadPackageNotCompleted
from penstock.interfaces.job_file_name import ParsedLoadJobFileName
from penstock.package.control_file import encode_control, read_control
from penstock.package.layout import (
    COMPLETED_JOBS,
    EXCEPTIONS_FOLDER,
    FAILED_JOBS,
    NEW_JOBS,
    RESULTS_FOLDER,
    STARTED_JOBS,
    TJobState,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from penstock.package.local_files import DirEntry
    from penstock.package.storage import FileStorage

# Jobs move along this order: one that moves while folders are listed is seen in both, and never in none.
_MOVE_ORDER: Final = (NEW_JOBS, STARTED_JOBS, FAILED_JOBS, COMPLETED_JOBS)


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


class JobFolders:
    """The four folders of a package. Every method may be called again after a crash in the middle of it."""

    def __init__(self, storage: FileStorage) -> None:
        self._storage = storage

    def list_jobs(self) -> JobListing:
        """Every job in the one state that counts; four listings, whatever the number of data files."""
        return merge_listings({state: self._storage.entries(state) for state in _MOVE_ORDER})

    def repair(self) -> int:
        """Finish moves that a crash left half done; gives the number of files that were in the way."""
        stale = self.list_jobs().stale
        for left_over in stale:
            self._storage.delete(left_over.path)
        return len(stale)

    def add(self, file_name: str, content: bytes, state: TJobState = NEW_JOBS) -> str:
        """Put a job file into a folder; gives its path."""
        if "/" in file_name:
            raise InvalidJobFileName(file_name=file_name[:80], reason="there is a folder in it")
        name = ParsedLoadJobFileName.parse(file_name).file_name()
        self._storage.put(f"{state}/{name}", content)
        return f"{state}/{name}"

    def start(self, file_name: str) -> str:
        """From new to started."""
        return self._move(_parse_name(file_name), NEW_JOBS, STARTED_JOBS)

    def complete(self, file_name: str, result: Mapping[str, Any] | None = None) -> str:
        """From started to completed; `result` is what the destination said, kept beside the job."""
        name = _parse_name(file_name)
        # What is said about a job that somebody else has completed stays as they said it.
        if result is not None and self._exists_in(STARTED_JOBS, name):
            self._storage.put(_result_path(name), encode_control(result))
        return self._move(name, STARTED_JOBS, COMPLETED_JOBS)

    def retry(self, file_name: str, message: str | None = None, kind: str | None = None) -> str:
        """From started to new, under a name that counts one try more."""
        return self._requeue(_parse_name(file_name), STARTED_JOBS, message, kind)

    def retry_failed(self, file_name: str) -> str:
        """From failed to new, under a name that counts one try more."""
        return self._requeue(_parse_name(file_name), FAILED_JOBS, None, None)

    def fail(self, file_name: str, message: str | None = None) -> str:
        """From started to failed, with the message beside it."""
        name = _parse_name(file_name)
        if self._exists_in(STARTED_JOBS, name):
            self._storage.put(
                f"{FAILED_JOBS}/{name.file_name()}{EXCEPTION_SUFFIX}", _encode_message(message or "")
            )
        return self._move(name, STARTED_JOBS, FAILED_JOBS)

    def failed_message(self, name: ParsedLoadJobFileName) -> str | None:
        """Why the job failed, or why its last try did; None when nobody said."""
        for path in (f"{FAILED_JOBS}/{name.file_name()}{EXCEPTION_SUFFIX}", _exception_path(name)):
            content = self._storage.read(path)
            if content is not None:
                return content.decode(errors="replace")
        return None

    def result(self, name: ParsedLoadJobFileName) -> dict[str, Any] | None:
        """What the destination said when the job was completed."""
        return read_control(self._storage, _result_path(name))

    def remove_completed(self) -> None:
        """Delete completed jobs, all of them or none: a package with failed jobs keeps them.

        What half-done moves have left goes first: a file of a completed job would come back to life.
        """
        if not self.list_jobs().in_state(FAILED_JOBS):
            self.repair()
            self._storage.delete(COMPLETED_JOBS)

    def list_failed(self, *, load_id: str, completed: bool) -> list[ListedJob]:
        """The failed jobs of a package that is finished."""
        if not completed:
            raise LoadPackageNotCompleted(load_id=load_id)
        return self.list_jobs().in_state(FAILED_JOBS)

    def _requeue(
        self, name: ParsedLoadJobFileName, source: TJobState, message: str | None, kind: str | None
    ) -> str:
        # A name that could not be read back would lose the job.
        again = _parse_name(name.with_retry().file_name())
        if message is not None and self._exists_in(source, name):
            text = f"retry: {kind or 'transient'}\n{message}"
            self._storage.put(_exception_path(again), _encode_message(text))
        self._move_as(name, source, again, NEW_JOBS)
        return again.file_name()

    def _exists_in(self, state: TJobState, name: ParsedLoadJobFileName) -> bool:
        return self._storage.exists(f"{state}/{name.file_name()}")

    def _move(self, name: ParsedLoadJobFileName, source: TJobState, target: TJobState) -> str:
        return self._move_as(name, source, name, target)

    def _move_as(
        self,
        name: ParsedLoadJobFileName,
        source: TJobState,
        new_name: ParsedLoadJobFileName,
        target: TJobState,
    ) -> str:
        old, new = f"{source}/{name.file_name()}", f"{target}/{new_name.file_name()}"
        # A move that somebody else has made, or a half-done one of ours, is done and no error.
        if not self._storage.move(old, new) and not self._storage.exists(new):
            raise JobNotFound(path=self._storage.path(old))
        return new


def _parse_name(file_name: str) -> ParsedLoadJobFileName:
    return ParsedLoadJobFileName.parse(file_name)


def _encode_message(message: str) -> bytes:
    """Messages come from anywhere: half a character in one must not keep a job from failing."""
    return message.encode(errors="backslashreplace")


def _result_path(name: ParsedLoadJobFileName) -> str:
    return f"{RESULTS_FOLDER}/{name.job_id()}.json"


def _exception_path(name: ParsedLoadJobFileName) -> str:
    return f"{EXCEPTIONS_FOLDER}/{name.table_name}.{name.file_id}.{name.retry_count}{EXCEPTION_SUFFIX}"
