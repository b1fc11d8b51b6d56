"""Load jobs: one job file on its way into a table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from penstock.interfaces.job_file_name import ParsedLoadJobFileName

if TYPE_CHECKING:
    from collections.abc import Sequence

TLoadJobState = Literal["running", "failed", "retry", "completed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadMark:
    """What every table commit of a load is marked with, so that it lands once."""

    pipeline_name: str
    sequence: int
    load_id: str
    manifest_hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedJob:
    """What a job came to in one table; None stands for what the destination did not say."""

    table: str
    rows: int | None = None
    version_before: int | None = None
    version_after: int | None = None
    skipped: bool = False
    """True when an earlier attempt of the same load had committed it."""


class LoadJob(ABC):
    """A job that loads one file.

    It starts as `running` and ends as `completed`, `failed` (terminal) or `retry`. While it runs, `state` is
    asked from time to time; once it has ended, nothing but `exception` and `applied` is asked, and then the
    job is let go. The job file exists as long as the job runs.

    `__init__` sets the job running, or does all of its work. `LoadClientTerminalException` raised there
    means `failed`, `LoadClientTransientException` means `retry`, and so do errors that nobody knows.
    """

    def __init__(self, file_name: str) -> None:
        """`file_name` says which job this is, so it is unique in all loads."""
        self._name = ParsedLoadJobFileName.parse(file_name)

    @abstractmethod
    def state(self) -> TLoadJobState:
        """How it stands now; asks the system that does the work where that is another one."""

    def file_name(self) -> str:
        """The name of the job file."""
        return self._name.file_name()

    def job_id(self) -> str:
        """The id of the job: its file's name without the number of retries."""
        return self._name.job_id()

    def job_file_info(self) -> ParsedLoadJobFileName:
        """The parts of the file's name."""
        return self._name

    @abstractmethod
    def exception(self) -> str:
        """Why the job is `failed` or to be tried again, as text."""

    def applied(self) -> Sequence[AppliedJob]:
        """What a completed job came to, for each table it changed; kept with the load.

        A job that failed after it had changed a table says so with the version after: then the table is
        brought back, if the destination can do that.
        """
        return ()


class NewLoadJob(LoadJob):
    """A job that brings a job file of its own, to be run as part of the same load."""

    @abstractmethod
    def new_file_path(self) -> str:
        """Where the new job file is now; it is moved into the package. Empty: there is no job to run."""


class FollowupJob:
    """Marks a job after which other jobs may have to run."""

    def create_followup_jobs(self, final_state: TLoadJobState) -> Sequence[NewLoadJob]:
        """The jobs to run after this one, which has ended in `final_state`."""
        return ()
