"""Keeps the jobs of a load going until none is left, or one stops the run."""

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
from penstock.load.failures import is_terminal, told
from penstock.load.plan import is_last_try, pause_before, table_of
from penstock.load.worker import run_job

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from penstock.errors import PenstockError
    from penstock.interfaces import AppliedJob, LoadMark
    from penstock.load.plan import Chain
    from penstock.load.settings import LoaderConfiguration
    from penstock.load.telling import JobsTold
    from penstock.load.work import Work
    from penstock.load.worker import Opener, Outcome


_LOG = logger("penstock.load")


class Engine:
    """Runs the jobs of one load side by side.

    `staged` are the jobs whose rows go to the staging dataset; jobs that follow others are never among them,
    for they work on both datasets. What stops the run lets jobs that are under way finish first, so that
    their end is written down; so does whoever interrupts it, unless they do it twice.
    """

    def __init__(
        self,
        work: Work,
        opener: Opener,
        *,
        mark: LoadMark,
        staged: Collection[str],
        rules: LoaderConfiguration,
        told: JobsTold,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        self._told = told
        self._work, self._opener, self._staged, self._rules = work, opener, staged, rules
        self._mark, self._check = mark, check
        self._able = opener.destination.capabilities
        self._paused: dict[str, float] = {}
        self._stop = threading.Event()
        self._halt: PenstockError | None = None
        self._running: dict[Future[Outcome], str] = {}
        self._refused: dict[str, Outcome] = {}
        """Jobs that failed for good and stop the run, the first one first."""

    def run(self) -> None:
        """Until every chain is completed or left out. Raises what stopped the run."""
        limit = self._able.max_parallel_load_jobs or self._rules.workers
        workers = max(1, min(limit, self._rules.workers))
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
            # Nothing is under way here, unless somebody has asked twice to stop: they need not wait.
            self._stop.set()
            threads.shutdown(wait=False, cancel_futures=True)
        if self._halt is not None:
            raise self._halt

    def _drain(self) -> None:
        """Begin nothing more, and note how the jobs end that are under way."""
        while self._running:
            done, _ = wait(self._running, return_when=FIRST_COMPLETED)
            for future in done:
                job = self._running.pop(future)
                try:
                    self._settle(job, future.result())
                except Exception as error:  # whoever wants to stop is not kept by a storage that breaks
                    _LOG.warning(
                        "the end of job %s is not noted, the next run finds it: %s", job, told(error)
                    )

    def _loop(self, threads: ThreadPoolExecutor, workers: int) -> None:
        while True:
            if self._halt is None:
                self._follow_chains()
                self._leave_out_chains()
            if self._halt is None:
                self._start(threads, workers)
            self._told.now(self._work)
            if self._running:
                done, _ = wait(self._running, timeout=self._pause(), return_when=FIRST_COMPLETED)
                for future in done:
                    self._settle(self._running.pop(future), future.result())
            elif self._halt is None and self._paused:
                time.sleep(self._pause() or 0.0)
            else:
                return

    def _start(self, threads: ThreadPoolExecutor, workers: int) -> None:
        now = time.monotonic()
        self._paused = {job: until for job, until in self._paused.items() if until > now}
        found = self._work.next_jobs(
            workers=workers, strategy=self._able.loader_parallelism_strategy, paused=self._paused
        )
        for job in found:
            self._check()
            task = self._work.start(job, staged=job in self._staged)
            # Each thread gets a copy of what user code may ask about the load.
            future = threads.submit(
                copy_context().run,
                run_job,
                task,
                self._opener,
                stop=self._stop,
                poll_pause=self._rules.poll_pause,
            )
            self._running[future] = job

    def _pause(self) -> float | None:
        """Seconds until the first paused job may be tried again; None when none is paused."""
        until = min(self._paused.values(), default=None)
        return None if until is None or self._halt is not None else max(until - time.monotonic(), 0.0)

    def _settle(self, job: str, outcome: Outcome) -> None:
        match outcome.state:
            case "completed":
                self._work.complete(job, outcome.applied, outcome.followups)
            case "retry":
                self._retry(job, outcome)
            case "failed":
                self._fail(job, outcome)
            case "running":
                self._work.leave(job)
                self._halt_by(outcome.halt)
            case _:
                assert_never(outcome.state)
        self._told.now(self._work)

    def _retry(self, job: str, outcome: Outcome) -> None:
        tried = self._work.retry(job, outcome.message)
        self._told.explain(job, outcome.message)
        self._paused[job] = time.monotonic() + pause_before(tried, first=self._rules.retry_pause)
        if is_last_try(tried, max_retries=self._rules.raise_on_max_retries):
            error = LoadClientJobRetry(
                load_id=self._work.load_id, job_id=job, retry_count=tried, retry_message=outcome.message
            )
            error.__cause__ = outcome.error
            self._halt_by(error)

    def _fail(self, job: str, outcome: Outcome) -> None:
        self._told.explain(job, outcome.message)
        if not self._rules.raise_on_failed_jobs:
            what = self._tried_undo(job, lambda _: outcome.applied) if outcome.applied else ""
            if what is None:
                self._work.leave(job)
            else:
                self._work.fail(job, f"{outcome.message} ({what})" if what else outcome.message)
            return
        self._work.retry(job, outcome.message, terminal=True)
        self._refused[job] = outcome
        if self._halt is None or isinstance(self._halt, LoadClientJobFailed):
            self._halt = self._refusal()

    def _refusal(self) -> LoadClientJobFailed:
        """The first job that failed, with all others: those that were under way may have failed too."""
        first, outcome = next(iter(self._refused.items()))
        error = LoadClientJobFailed(
            load_id=self._work.load_id,
            job_id=first,
            failed_message=outcome.message,
            failed_jobs={job: other.message for job, other in self._refused.items()},
        )
        error.__cause__ = outcome.error
        return error

    def _halt_by(self, error: PenstockError | None) -> None:
        self._halt = self._halt or error

    def _follow_chains(self) -> None:
        """Ask what follows the chains whose jobs are all completed, and take that up as jobs of the load."""
        for chain in self._work.to_follow():
            try:
                with self._opener.client() as client:
                    tables = [client.prepare_load_table(table) for table in chain.tables]
                    jobs = client.create_table_chain_completed_followup_jobs(tables)
                    paths = [job.new_file_path() for job in jobs]
            except Exception as error:
                failed = TableChainFollowupJobCreationFailedException(
                    root_table_name=chain.root, cause=told(error)
                )
                failed.__cause__ = error
                self._halt_by(failed)
                return
            self._work.follow(chain, paths)

    def _leave_out_chains(self) -> None:
        """A chain with a failed job is left out whole: what it had written is taken back."""
        for chain in self._work.left_out():
            for job in reversed(chain.jobs):
                match self._work.states[job]:
                    case "completed":
                        self._take_back(chain, job)
                    case "new" if self._work.was_begun(job):
                        self._give_up(chain, job)
                    case "new":
                        self._work.fail(job, _left_out(chain, "and was not run"))
                    case _:
                        pass

    def _take_back(self, chain: Chain, job: str) -> None:
        """What cannot be taken back stays: it must not keep the pipeline from going on."""
        what = self._tried_undo(job, lambda _: self._work.applied(job))
        if what is not None:
            self._work.take_back(job, _left_out(chain, what))

    def _give_up(self, chain: Chain, job: str) -> None:
        """A process may have died between the commit of a job and its note, so the tables are asked.

        The job of a root may have changed tables that have no job of their own.
        """
        others = {table_of(other) for other in chain.jobs if other != job}
        tables = chain.tables if table_of(job) == chain.root else (table_of(job),)

        def as_they_tell(client: WithUndo) -> Iterator[AppliedJob]:
            found = (client.to_undo(table, self._mark) for table in tables if table not in others)
            return (applied for applied in found if applied is not None)

        what = self._tried_undo(job, as_they_tell)
        if what is not None:
            self._work.fail(job, _left_out(chain, what))

    def _tried_undo(self, job: str, done: Callable[[WithUndo], Iterable[AppliedJob]]) -> str | None:
        """Take back what a job has done; gives what came of it, or None where that stops the run for now."""
        try:
            return self._undone(done)
        except Exception as error:
            if is_terminal(error):
                return f"but its rows are in their table: {told(error)}"
            failed = LoadClientJobRetry(
                load_id=self._work.load_id, job_id=job, retry_count=1, retry_message=told(error)
            )
            failed.__cause__ = error
            self._halt_by(failed)
            return None

    def _undone(self, done: Callable[[WithUndo], Iterable[AppliedJob]]) -> str:
        with self._opener.client() as client:
            if not isinstance(client, WithUndo):
                return "but what it has written stays: the destination cannot undo"
            for applied in done(client):
                client.undo(applied, self._work.load_id)
        return "and its rows were taken back"


def _left_out(chain: Chain, what: str) -> str:
    return f"left out because another job of the tables of {chain.root} failed, {what}"
