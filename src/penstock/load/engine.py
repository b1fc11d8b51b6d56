"""Runs the jobs of a load until none is left, or one stops the run."""

from __future__ import annotations

import threading
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from typing import TYPE_CHECKING, assert_never

from penstock.config import logger
from penstock.errors import (
    LoadClientJobFailed,
    LoadClientJobRetry,
    TableChainFollowupJobCreationFailedException,
)
from penstock.interfaces import WithUndo
from penstock.load.plan import is_last_try, retry_delay, table_of
from penstock.load.worker import JobOutcome, describe_error, is_terminal, run_job, stops_load

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from penstock.errors import PenstockError
    from penstock.interfaces import AppliedJob, LoadMark
    from penstock.interfaces.capabilities import TLoaderFileFormat
    from penstock.load.job_board import JobBoard, JobProgress
    from penstock.load.plan import Chain
    from penstock.load.settings import LoaderConfiguration
    from penstock.load.target import LoadTarget


_LOG = logger("penstock.load")


class LoadEngine:
    """Runs the jobs of one load concurrently.

    `staged_jobs` write to the staging dataset; follow-up jobs are never among them, since they work on both
    datasets. `file_formats` are those of jobs that load files. When the run stops, or at the first interrupt,
    running jobs finish and their end is recorded; a second interrupt does not wait.
    """

    def __init__(
        self,
        job_board: JobBoard,
        target: LoadTarget,
        *,
        mark: LoadMark,
        staged_jobs: Collection[str],
        file_formats: Mapping[str, TLoaderFileFormat],
        load_settings: LoaderConfiguration,
        progress: JobProgress,
    ) -> None:
        self._job_board, self._target, self._mark = job_board, target, mark
        self._staged_jobs, self._load_settings, self._progress = staged_jobs, load_settings, progress
        self._file_formats = file_formats
        self._capabilities = target.destination.capabilities()
        self._paused: dict[str, float] = {}
        self._progressed_retries: dict[str, int] = {}
        """The number of retries of a job before its last progress."""
        self._stop = threading.Event()
        self._halt_error: PenstockError | None = None
        self._running: dict[Future[JobOutcome], str] = {}
        self._failed_outcomes: dict[str, JobOutcome] = {}
        """Jobs with a terminal failure that stops the run, the first one first."""

    def run(self) -> None:
        """Run until every chain is completed or left out; raise the error that stopped the run."""
        limit = self._capabilities.max_parallel_load_jobs or self._load_settings.workers
        workers = max(1, min(limit, self._load_settings.workers))
        threads = ThreadPoolExecutor(max_workers=workers, thread_name_prefix="penstock-load")
        try:
            self._loop(threads, workers)
        except (KeyboardInterrupt, SystemExit):
            self._drain()
            raise
        except BaseException:
            self._stop.set()
            wait(self._running)
            raise
        finally:
            # Nothing is running here, except after a second interrupt, which does not wait.
            self._stop.set()
            threads.shutdown(wait=False, cancel_futures=True)
        if self._halt_error is not None:
            raise self._halt_error

    def _drain(self) -> None:
        """Start no more jobs, and record the end of the running ones."""
        while self._running:
            done, _ = wait(self._running, return_when=FIRST_COMPLETED)
            for future in done:
                job = self._running.pop(future)
                try:
                    self._apply_outcome(job, future.result())
                except Exception as error:  # a broken storage must not delay an interrupt
                    _LOG.warning(
                        "the end of job %s is not recorded, the next run will find it: %s",
                        job,
                        describe_error(error),
                    )

    def _loop(self, threads: ThreadPoolExecutor, workers: int) -> None:
        while True:
            if self._halt_error is None:
                self._create_chain_followups()
                self._roll_back_failed_chains()
            if self._halt_error is None:
                self._start_jobs(threads, workers)
            self._progress.report(self._job_board)
            if self._running:
                done, _ = wait(self._running, timeout=self._wait_seconds(), return_when=FIRST_COMPLETED)
                for future in done:
                    self._apply_outcome(self._running.pop(future), future.result())
            elif self._halt_error is None and self._paused:
                time.sleep(self._wait_seconds() or 0.0)
            elif self._halt_error is not None or not self._repeat_overwritten_jobs(threads):
                return

    def _repeat_overwritten_jobs(self, threads: ThreadPoolExecutor) -> bool:
        """Start completed jobs again whose commits another writer has overwritten; return whether any."""
        with self._target.client() as client:
            if not isinstance(client, WithUndo):
                return False
            commits = [
                (job, applied) for job, results in self._job_board.own_results() for applied in results
            ]
            checks = threads.map(lambda commit: client.is_overwritten(commit[1], self._mark), commits)
            overwritten = {
                job: applied for (job, applied), is_gone in zip(commits, checks, strict=True) if is_gone
            }
        for job, applied in overwritten.items():
            message = f"another writer has overwritten version {applied.version_after} of {applied.table}"
            _LOG.warning("job %s of load %s is repeated: %s", job, self._job_board.load_id, message)
            self._job_board.reopen(job)
            self._retry(job, JobOutcome(state="retry", message=message))
        return bool(overwritten)

    def _start_jobs(self, threads: ThreadPoolExecutor, workers: int) -> None:
        now = time.monotonic()
        self._paused = {job: until for job, until in self._paused.items() if until > now}
        startable = self._job_board.next_jobs(
            workers=workers,
            strategy=self._capabilities.loader_parallelism_strategy or "parallel",
            paused=self._paused,
        )
        for job in startable:
            self._target.assert_leased()
            task = self._job_board.start(
                job,
                staged=job in self._staged_jobs,
                file_format=self._file_formats.get(job, "reference"),
            )
            # Each thread gets a copy of the context that user code may read.
            future = threads.submit(
                copy_context().run,
                run_job,
                task,
                self._target,
                stop=self._stop,
                poll_pause=self._load_settings.poll_pause,
            )
            self._running[future] = job

    def _wait_seconds(self) -> float | None:
        """Return the seconds until the first paused job may be retried; None when none is paused."""
        until = min(self._paused.values(), default=None)
        return None if until is None or self._halt_error is not None else max(until - time.monotonic(), 0.0)

    def _apply_outcome(self, job: str, outcome: JobOutcome) -> None:
        match outcome.state:
            case "completed":
                self._target.assert_leased()
                self._job_board.complete(job, outcome.applied, outcome.followups)
            case "retry":
                self._retry(job, outcome)
            case "failed":
                self._fail(job, outcome)
            case "running":
                self._job_board.abandon(job)
                self._halt_with(outcome.halt)
            case _:
                assert_never(outcome.state)
        self._progress.report(self._job_board)

    def _retry(self, job: str, outcome: JobOutcome) -> None:
        retry_count = self._job_board.retry(job, outcome.message)
        self._progress.record_reason(job, outcome.message)
        if outcome.has_progressed:
            # Only attempts in vain count, because a long job may meet any number of transient errors.
            self._progressed_retries[job] = retry_count - 1
        tries = retry_count - self._progressed_retries.get(job, 0)
        self._paused[job] = time.monotonic() + retry_delay(tries, first=self._load_settings.retry_pause)
        if is_last_try(tries, max_retries=self._load_settings.raise_on_max_retries):
            error = LoadClientJobRetry(
                load_id=self._job_board.load_id,
                job_id=job,
                retry_count=retry_count,
                retry_message=outcome.message,
            )
            error.__cause__ = outcome.error
            self._halt_with(error)

    def _fail(self, job: str, outcome: JobOutcome) -> None:
        self._progress.record_reason(job, outcome.message)
        if not self._load_settings.raise_on_failed_jobs and not stops_load(outcome.error):
            detail = self._try_undo(job, lambda _: outcome.applied) if outcome.applied else ""
            if detail is None:
                self._job_board.abandon(job)
            else:
                self._job_board.fail(job, f"{outcome.message} ({detail})" if detail else outcome.message)
            return
        self._job_board.retry(job, outcome.message, terminal=True)
        self._failed_outcomes[job] = outcome
        if self._halt_error is None or isinstance(self._halt_error, LoadClientJobFailed):
            self._halt_error = self._job_failed_error()

    def _job_failed_error(self) -> LoadClientJobFailed:
        """Return the error of the first failed job, with the jobs that failed while it stopped the run."""
        first, outcome = next(iter(self._failed_outcomes.items()))
        error = LoadClientJobFailed(
            load_id=self._job_board.load_id,
            job_id=first,
            failed_message=outcome.message,
            failed_jobs={job: other.message for job, other in self._failed_outcomes.items()},
        )
        error.__cause__ = outcome.error
        return error

    def _halt_with(self, error: PenstockError | None) -> None:
        self._halt_error = self._halt_error or error

    def _create_chain_followups(self) -> None:
        """Add the follow-up jobs of completed chains to the load."""
        for chain in self._job_board.chains_to_follow_up():
            try:
                with self._target.client() as client:
                    tables = [client.prepare_load_table(table) for table in chain.tables]
                    jobs = client.create_table_chain_completed_followup_jobs(tables)
                    paths = [job.new_file_path() for job in jobs]
            except Exception as error:
                failed = TableChainFollowupJobCreationFailedException(
                    root_table_name=chain.root, cause=describe_error(error)
                )
                failed.__cause__ = error
                self._halt_with(failed)
                return
            self._job_board.add_chain_followups(chain, paths)

    def _roll_back_failed_chains(self) -> None:
        """Leave out each chain with a failed job, and undo what its other jobs wrote."""
        for chain in self._job_board.failed_chains():
            for job in reversed(chain.jobs):
                match self._job_board.states[job]:
                    case "completed":
                        self._undo_completed_job(chain, job)
                    case "new" if self._job_board.was_started(job):
                        self._undo_unfinished_job(chain, job)
                    case "new":
                        self._job_board.fail(job, _excluded_message(chain, "and was not run"))
                    case "failed" if self._job_board.is_dismissed(job):
                        self._undo_dismissed_job(chain, job)
                    case _:
                        pass

    def _undo_completed_job(self, chain: Chain, job: str) -> None:
        """Undo a completed job; rows that cannot be undone remain, and must not block the pipeline."""
        detail = self._try_undo(job, lambda _: self._job_board.applied_jobs(job))
        if detail is not None:
            self._job_board.mark_undone(job, _excluded_message(chain, detail))

    def _undo_unfinished_job(self, chain: Chain, job: str) -> None:
        """Undo a started job by the history of its tables: a process may have died right after its commit."""
        detail = self._try_undo(job, self._commits_in_history(chain, job))
        if detail is not None:
            self._job_board.fail(job, _excluded_message(chain, detail))

    def _undo_dismissed_job(self, chain: Chain, job: str) -> None:
        """Undo what the tries of a job wrote that a user has moved to the failed ones."""
        detail = self._try_undo(job, self._commits_in_history(chain, job))
        if detail is not None:
            message = self._job_board.failed_messages()[job].partition("\n")[2]
            self._job_board.record_undone_tries(job, f"{message} (not tried again, {detail})")

    def _commits_in_history(self, chain: Chain, job: str) -> Callable[[WithUndo], Iterable[AppliedJob]]:
        """Return a function that finds the commits of a job; that of a root may change other tables too."""
        others = {table_of(other) for other in chain.jobs if other != job}
        tables = chain.tables if table_of(job) == chain.root else (table_of(job),)

        def commits_in_history(client: WithUndo) -> Iterator[AppliedJob]:
            commits = (client.to_undo(table, self._mark) for table in tables if table not in others)
            return (applied for applied in commits if applied is not None)

        return commits_in_history

    def _try_undo(self, job: str, find_applied: Callable[[WithUndo], Iterable[AppliedJob]]) -> str | None:
        """Undo a job; return the detail for its message, or None when a transient error stops the run."""
        # A run that took over may have completed the load, whose rows must not be undone.
        self._target.assert_leased()
        try:
            return self._undo(find_applied)
        except Exception as error:
            if is_terminal(error):
                return f"but its rows remain in their table: {describe_error(error)}"
            failed = LoadClientJobRetry(
                load_id=self._job_board.load_id,
                job_id=job,
                retry_count=1,
                retry_message=describe_error(error),
            )
            failed.__cause__ = error
            self._halt_with(failed)
            return None

    def _undo(self, find_applied: Callable[[WithUndo], Iterable[AppliedJob]]) -> str:
        with self._target.client() as client:
            if not isinstance(client, WithUndo):
                return "but its rows remain: the destination cannot undo"
            for applied in find_applied(client):
                client.undo(applied, self._job_board.load_id)
        return "and its rows were rolled back"


def _excluded_message(chain: Chain, detail: str) -> str:
    return f"left out because another job of the tables of {chain.root} failed, {detail}"
