"""The job files of one package and their moves: each is a put that counts, then a delete.

A crash between the two leaves two files of one job. The later state counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from penstock.errors import InvalidJobFileName, JobNotFound, LoadPackageNotCompleted, UsageError
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

# Jobs move in this order: one that moves during the listing is seen twice, and never missed.
_MOVE_ORDER: Final = (NEW_JOBS, STARTED_JOBS, FAILED_JOBS, COMPLETED_JOBS)


EXCEPTION_SUFFIX = ".exception"
_RETRY_PREFIX: Final = "retry: "
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
        """The path relative to the package."""
        return f"{self.state}/{self.name.file_name()}"

    def supersedes(self, other: ListedJob) -> bool:
        """Return whether this file counts: completed is final, else the later try, then the later state."""
        return self._rank() > other._rank()

    def _rank(self) -> tuple[bool, int, int]:
        return (self.state == COMPLETED_JOBS, self.name.retry_count, _STATE_RANK[self.state])


@dataclass(frozen=True, slots=True, kw_only=True)
class JobListing:
    """Every job once, by its id, and the stale files of interrupted moves."""

    jobs: Mapping[str, ListedJob]
    stale: tuple[ListedJob, ...] = ()
    unknown: tuple[str, ...] = field(default=())
    """Paths of files that are not job files."""

    def in_state(self, *states: TJobState) -> list[ListedJob]:
        """Return the jobs in the given states, sorted by file name."""
        jobs = (job for job in self.jobs.values() if job.state in states)
        return sorted(jobs, key=lambda job: job.name.file_name())


def merge_listings(listings: Mapping[TJobState, Iterable[DirEntry]]) -> JobListing:
    """Merge the listings of the four folders of a package."""
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
            job = ListedJob(state=state, name=name, size=entry.size, modified=entry.modified)
            other = jobs.get(name.job_id())
            if other is None or job.supersedes(other):
                jobs[name.job_id()] = job
                stale += [other] if other else []
            else:
                stale.append(job)
    return JobListing(jobs=jobs, stale=tuple(stale), unknown=tuple(unknown))


class JobFolders:
    """The four job folders of a package. Every method is idempotent after a crash."""

    def __init__(self, storage: FileStorage) -> None:
        self._storage = storage

    def list_jobs(self) -> JobListing:
        """List every job in its effective state; four listings, whatever the number of data files."""
        return merge_listings({state: self._storage.entries(state) for state in _MOVE_ORDER})

    def repair(self) -> JobListing:
        """Finish interrupted moves; return the jobs, and the stale files that are deleted now."""
        listing = self.list_jobs()
        for job in listing.stale:
            self._storage.delete_file(job.path)
        return listing

    def has_failed(self) -> bool:
        """Return whether a job has failed; one listing if the folder of failed jobs is empty."""
        return bool(self._storage.names(FAILED_JOBS)) and bool(self.list_jobs().in_state(FAILED_JOBS))

    def add(self, file_name: str, content: bytes, state: TJobState = NEW_JOBS) -> str:
        """Put a job file into a folder; return its path."""
        if "/" in file_name:
            raise InvalidJobFileName(file_name=file_name[:80], reason="it contains a folder")
        name = ParsedLoadJobFileName.parse(file_name).file_name()
        self._storage.put(f"{state}/{name}", content)
        return f"{state}/{name}"

    def start(self, file_name: str) -> str:
        """Move a job from new to started."""
        return self._move(_parse_name(file_name), NEW_JOBS, STARTED_JOBS)

    def complete(
        self, file_name: str, result: Mapping[str, Any] | None = None, *, is_leased: bool = False
    ) -> str:
        """Move a job from started to completed, with the result of the destination.

        `is_leased` means that the caller has just checked its lease: then no other process has completed it.
        """
        name = _parse_name(file_name)
        # The result of a job that another process has completed must not change.
        if result is not None and (is_leased or self._exists_in(STARTED_JOBS, name)):
            self._storage.put(_result_path(name), encode_control(result))
        return self._move(name, STARTED_JOBS, COMPLETED_JOBS)

    def retry(self, file_name: str, message: str | None = None, kind: str | None = None) -> str:
        """Move a job from started to new, under a name with one more try."""
        return self._requeue(_parse_name(file_name), STARTED_JOBS, message, kind)

    def retry_failed(self, file_name: str) -> str:
        """Move a job from failed to new, under a name with one more try."""
        return self._requeue(_parse_name(file_name), FAILED_JOBS, None, None)

    def fail(self, file_name: str, message: str | None = None) -> str:
        """Move a job from started to failed, with its message."""
        name = _parse_name(file_name)
        if self._exists_in(STARTED_JOBS, name):
            self._storage.put(_message_path(name), _encode_message(message or ""))
        return self._move(name, STARTED_JOBS, FAILED_JOBS)

    def fail_retried(self, file_name: str) -> str:
        """Move a job that was tried and is new again to failed, with the message of its last try."""
        name = _parse_name(file_name)
        if not name.retry_count:
            raise UsageError(
                f"{file_name} was never tried, so it did not fail",
                hint="use a job that list_pending_retry_jobs_in_package() returns",
            )
        message = self.failed_message(name)
        if message is not None and self._exists_in(NEW_JOBS, name):
            self._storage.put(_message_path(name), _encode_message(message))
        return self._move(name, NEW_JOBS, FAILED_JOBS)

    def failed_message(self, name: ParsedLoadJobFileName) -> str | None:
        """Return the message of the last failed try, if any."""
        for path in (_message_path(name), _exception_path(name)):
            content = self._storage.read(path)
            if content is not None:
                return content.decode(errors="replace")
        return None

    def result(self, name: ParsedLoadJobFileName) -> dict[str, Any] | None:
        """Return the result of a completed job."""
        return read_control(self._storage, _result_path(name))

    def remove_completed(self) -> None:
        """Delete completed jobs, unless the package has failed jobs.

        Stale files go first: one of a completed job would make it pending again.
        """
        if not self.has_failed():
            self.repair()
            self._storage.delete(COMPLETED_JOBS)

    def list_failed(self, *, load_id: str, completed: bool) -> list[ListedJob]:
        """List the failed jobs of a finished package."""
        if not completed:
            raise LoadPackageNotCompleted(load_id=load_id)
        return self.list_jobs().in_state(FAILED_JOBS)

    def _requeue(
        self, name: ParsedLoadJobFileName, source: TJobState, message: str | None, kind: str | None
    ) -> str:
        # A name that cannot be parsed would lose the job.
        retry_name = _parse_name(name.with_retry().file_name())
        if message is not None and self._exists_in(source, name):
            text = f"{_RETRY_PREFIX}{kind or 'transient'}\n{message}"
            self._storage.put(_exception_path(retry_name), _encode_message(text))
        self._move_as(name, source, retry_name, NEW_JOBS)
        return retry_name.file_name()

    def _exists_in(self, state: TJobState, name: ParsedLoadJobFileName) -> bool:
        return self._storage.has_file(f"{state}/{name.file_name()}")

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
        # A move that another process, or an interrupted call, has made is not an error.
        if not self._storage.move(old, new) and not self._storage.has_file(new):
            raise JobNotFound(path=self._storage.path(old))
        return new


def _parse_name(file_name: str) -> ParsedLoadJobFileName:
    return ParsedLoadJobFileName.parse(file_name)


def _encode_message(message: str) -> bytes:
    """Encode a message from third-party code, which may contain lone surrogates."""
    return message.encode(errors="backslashreplace")


def is_retry_message(message: str | None, *, kind: str = "") -> bool:
    r"""Return whether a message is that of a try after which the job was to be tried again.

    >>> is_retry_message("retry: transient\nno answer"), is_retry_message("no such column")
    (True, False)
    """
    return message is not None and message.startswith(f"{_RETRY_PREFIX}{kind}")


def _message_path(name: ParsedLoadJobFileName) -> str:
    return f"{FAILED_JOBS}/{name.file_name()}{EXCEPTION_SUFFIX}"


def _result_path(name: ParsedLoadJobFileName) -> str:
    return f"{RESULTS_FOLDER}/{name.job_id()}.json"


def _exception_path(name: ParsedLoadJobFileName) -> str:
    return f"{EXCEPTIONS_FOLDER}/{name.table_name}.{name.file_id}.{name.retry_count}{EXCEPTION_SUFFIX}"
