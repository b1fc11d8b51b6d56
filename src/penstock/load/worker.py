"""Runs one job in a thread, with its own client; errors become job states."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from pyspark.errors import AnalysisException

from penstock.config import redact
from penstock.errors import (
    BatchFailed,
    CommitRolledBack,
    DatabaseQueryFailed,
    DataError,
    FollowupJobCreationFailedException,
    InternalError,
    PenstockError,
    SessionLacksConf,
    SparkNotAvailable,
    UsageError,
)
from penstock.interfaces import FollowupJob, WithStagingDataset
from penstock.load.loader_files import write_loader_files
from penstock.spark.storage_errors import as_storage_error

if TYPE_CHECKING:
    import threading
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from penstock.interfaces import AppliedJob, JobClientBase, LoadJob, TLoadJobState
    from penstock.interfaces.capabilities import TLoaderFileFormat
    from penstock.load.target import LoadTarget
    from penstock.spark.file_format import FileFormat

_TERMINAL = (UsageError, DataError, InternalError, AssertionError, AnalysisException)
# Package, tables and ledger do not match, or Spark or a database that refuses the login cannot run any job.
_STOPPING = (InternalError, CommitRolledBack, DatabaseQueryFailed, SparkNotAvailable, SessionLacksConf)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobTask:
    """One job to run."""

    job_id: str
    path: str
    table: str
    load_id: str
    is_restored: bool
    """Whether an earlier process started the job."""
    is_staged: bool
    file_format: TLoaderFileFormat = "reference"
    """The format of the files that the client loads; `reference` if it reads the rows itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOutcome:
    """The end of a job; `running` if the run stopped waiting for it."""

    state: TLoadJobState
    message: str = ""
    applied: Sequence[AppliedJob] = ()
    followups: Sequence[str] = ()
    """Paths of the files of its follow-up jobs."""
    error: Exception | None = None
    has_progressed: bool = False
    """Whether an attempt that ended in `retry` did a part of its work for good."""
    halt: PenstockError | None = None
    """Set if the run must stop: the job is done, but its follow-up jobs are unknown."""


def run_job(task: JobTask, target: LoadTarget, *, stop: threading.Event, poll_pause: float) -> JobOutcome:
    """Start or restore a job and poll it until it ends."""
    outcomes: list[JobOutcome] = []
    try:
        with target.describe_jobs(task.table):
            _write_files(task, target)
            with target.client() as client, _select_dataset(client, staging=task.is_staged) as job_client:
                outcomes.append(_wait_for_outcome(_start_or_restore(job_client, task), stop, poll_pause))
    except Exception as error:  # third-party code may raise anything
        # A completed job is completed even if its client cannot be closed.
        if not outcomes or outcomes[0].state != "completed":
            state: TLoadJobState = "failed" if is_terminal(error) else "retry"
            progressed = isinstance(error, BatchFailed) and error.sent > 0
            return JobOutcome(
                state=state, message=describe_error(error), error=error, has_progressed=progressed
            )
    return outcomes[0] if outcomes else JobOutcome(state="retry", message="the client suppressed an error")


def _write_files(task: JobTask, target: LoadTarget) -> None:
    """Write the files that the client of a job loads, unless it reads the rows itself."""
    if task.file_format == "reference":
        return
    with target.sessions.session() as spark:
        write_loader_files(
            target.packages.package(task.load_id),
            "/".join(task.path.rsplit("/", 2)[1:]),
            target.schema.get_table(task.table),
            cast("FileFormat", task.file_format),
            file_size=target.destination.capabilities().recommended_file_size,
            spark=spark,
        )


def is_terminal(error: BaseException) -> bool:
    """Return whether a retry would raise the same error; unknown errors are retried."""
    return isinstance(_translated_error(error), _TERMINAL)


def stops_load(error: BaseException | None) -> bool:
    """Return whether the load must not count without this job, whatever the settings for failed jobs are."""
    return isinstance(error, _STOPPING)


def describe_error(error: BaseException) -> str:
    """Return the message of an error without secrets, with its type unless it is a `PenstockError`."""
    cause = _translated_error(error)
    return redact(cause.message if isinstance(cause, PenstockError) else f"{type(error).__name__}: {error}")


def _translated_error(error: BaseException) -> BaseException:
    """Return the storage error behind a Spark error, or the error itself."""
    return error if isinstance(error, PenstockError) else as_storage_error(error) or error


def _wait_for_outcome(job: LoadJob, stop: threading.Event, poll_pause: float) -> JobOutcome:
    state = _wait_until_ended(job, stop, poll_pause)
    if state == "completed":
        return _completed_outcome(job)
    if state == "running":
        return JobOutcome(state=state)
    # A failed job may have changed some tables: those with a version after it.
    results = job.applied() if state == "failed" else ()
    applied = tuple(table for table in results if table.version_after is not None)
    return JobOutcome(state=state, message=redact(job.exception()), applied=applied)


def _completed_outcome(job: LoadJob) -> JobOutcome:
    """Return the results and follow-up jobs of a completed job, which no error here may run again."""
    try:
        followups = job.create_followup_jobs("completed") if isinstance(job, FollowupJob) else ()
        paths = tuple(followup.new_file_path() for followup in followups)
        return JobOutcome(state="completed", applied=tuple(job.applied()), followups=paths)
    except Exception as error:  # third-party code may raise anything
        halt = FollowupJobCreationFailedException(job_id=job.job_id(), cause=describe_error(error))
        halt.__cause__ = error
        return JobOutcome(state="running", halt=halt)


def _start_or_restore(client: JobClientBase, task: JobTask) -> LoadJob:
    if task.is_restored:
        return client.restore_file_load(task.path)
    return client.start_file_load(client.prepare_load_table(task.table), task.path, task.load_id)


def _wait_until_ended(job: LoadJob, stop: threading.Event, poll_pause: float) -> TLoadJobState:
    state = job.state()
    while state == "running" and not stop.wait(poll_pause):
        state = job.state()
    return state


def _select_dataset(client: JobClientBase, *, staging: bool) -> AbstractContextManager[JobClientBase]:
    if staging and isinstance(client, WithStagingDataset):
        return client.with_staging_dataset()
    return nullcontext(client)
