"""Load jobs: the load of one job file into a table."""

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
    """The mark of a load on its table commits, by which a repeated commit is recognized."""

    pipeline_name: str
    sequence: int
    load_id: str
    manifest_hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedJob:
    """The effect of a job on one table; None for facts that the destination does not report."""

    table: str
    rows: int | None = None
    version_before: int | None = None
    version_after: int | None = None
    skipped: bool = False
    """Whether an earlier attempt of the same load had committed it."""


class LoadJob(ABC):
    """A job that loads one file.

    It starts as `running` and ends as `completed`, `failed` (terminal) or `retry`. While it runs, `state` is
    polled; after that only `exception` and `applied` are called, and the job is discarded. The job file
    exists while the job runs.

    `__init__` starts the job, or does all of its work. `LoadClientTerminalException` raised there means
    `failed`; `LoadClientTransientException` and unknown errors mean `retry`.
    """

    def __init__(self, file_name: str) -> None:
        """`file_name` identifies the job and is unique in all loads."""
        self._name = ParsedLoadJobFileName.parse(file_name)

    @abstractmethod
    def state(self) -> TLoadJobState:
        """Return the current state; query the system that does the work, if it is another one."""

    def file_name(self) -> str:
        """Return the name of the job file."""
        return self._name.file_name()

    def job_id(self) -> str:
        """Return the id of the job: its file name without the number of retries."""
        return self._name.job_id()

    def job_file_info(self) -> ParsedLoadJobFileName:
        """Return the parts of the file name."""
        return self._name

    @abstractmethod
    def exception(self) -> str:
        """Return the message of a job that is `failed` or to be retried."""

    def applied(self) -> Sequence[AppliedJob]:
        """Return the effects of a completed job by changed table; they are stored with the load.

        A job that failed after it had changed a table returns the version after the change; the table is
        rolled back, if the destination can do that.
        """
        return ()


class NewLoadJob(LoadJob):
    """A job that creates another job file in the same load."""

    @abstractmethod
    def new_file_path(self) -> str:
        """Return the path of the new job file, which is moved into the package; empty if there is none."""


class FollowupJob:
    """A job that may be followed by other jobs."""

    def create_followup_jobs(self, final_state: TLoadJobState) -> Sequence[NewLoadJob]:
        """Return the jobs to run after this one ended in `final_state`."""
        return ()
