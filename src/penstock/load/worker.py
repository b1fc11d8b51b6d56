"""Runs one job from its start to its end, in a thread and with a client of its own."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from penstock.config import redact
from penstock.errors import FollowupJobCreationFailedException
from penstock.interfaces import FollowupJob, WithStagingDataset
from penstock.load.failures import describe_error, is_terminal

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager

    from pyspark.sql import SparkSession

    from penstock.errors import PenstockError
    from penstock.interfaces import (
        AppliedJob,
        Destination,
        DestinationClientConfiguration,
        JobClientBase,
        LoadJob,
        TLoadJobState,
    )
    from penstock.schema import Schema


class SessionProvider(Protocol):
    """Lends sessions; `SessionPool` does."""

    def session(self) -> AbstractContextManager[SparkSession]:
        """A session for the length of a block."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientFactory:
    """Opens clients of one destination for one schema, each with a session from the pool."""

    destination: Destination
    config: DestinationClientConfiguration
    schema: Schema
    pool: SessionProvider

    @contextmanager
    def client(self) -> Iterator[JobClientBase]:
        """A client, open for the length of the block."""
        with (
            self.pool.session() as spark,
            self.destination.client(self.schema, self.config, spark=spark) as client,
        ):
            yield client


@dataclass(frozen=True, slots=True, kw_only=True)
class JobTask:
    """One job to run."""

    job_id: str
    path: str
    table: str
    load_id: str
    is_restored: bool
    """Whether a process that is gone had started it."""
    is_staged: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOutcome:
    """How a job ended. `running`: it has not ended, and nobody waits for it any more."""

    state: TLoadJobState
    message: str = ""
    applied: Sequence[AppliedJob] = ()
    followups: Sequence[str] = ()
    """Where the files of the jobs are that follow it."""
    error: Exception | None = None
    halt: PenstockError | None = None
    """What ends the run: the job is done, and what follows it is not known."""


def run_job(
    task: JobTask, client_factory: ClientFactory, *, stop: threading.Event, poll_pause: float
) -> JobOutcome:
    """Start or restore a job, and stay with it until it ends; errors become the state they mean."""
    ended: list[JobOutcome] = []
    try:
        with client_factory.client() as client, _select_dataset(client, staging=task.is_staged) as used:
            ended.append(_wait_for_outcome(_start_or_restore(used, task), stop, poll_pause))
    except Exception as error:  # a stranger's code may raise anything; it becomes a state
        # A job that is done stays done, even if its client could not be closed.
        if not ended or ended[0].state != "completed":
            state: TLoadJobState = "failed" if is_terminal(error) else "retry"
            return JobOutcome(state=state, message=describe_error(error), error=error)
    return ended[0] if ended else JobOutcome(state="retry", message="the client kept an error to itself")


def _wait_for_outcome(job: LoadJob, stop: threading.Event, poll_pause: float) -> JobOutcome:
    state = _wait_until_ended(job, stop, poll_pause)
    if state == "completed":
        return _completed_outcome(job)
    if state == "running":
        return JobOutcome(state=state)
    # A job that failed may have changed some tables: those of which it knows the version after.
    done = job.applied() if state == "failed" else ()
    applied = tuple(table for table in done if table.version_after is not None)
    return JobOutcome(state=state, message=redact(job.exception()), applied=applied)


def _completed_outcome(job: LoadJob) -> JobOutcome:
    """What a completed job came to, and what follows it. Whatever goes wrong here, it is not run again."""
    try:
        followups = job.create_followup_jobs("completed") if isinstance(job, FollowupJob) else ()
        paths = tuple(followup.new_file_path() for followup in followups)
        return JobOutcome(state="completed", applied=tuple(job.applied()), followups=paths)
    except Exception as error:  # as above; it ends the run
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
