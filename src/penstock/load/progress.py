"""Tells a collector how the jobs of a load stand, table by table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.interfaces.progress import JOBS
from penstock.load.plan import table_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from penstock.interfaces.progress import Collector
    from penstock.load.job_board import JobBoard
    from penstock.load.plan import JobState

_ENDED = frozenset(("completed", "failed"))


def table_state(jobs: Mapping[str, JobState], retried: Collection[str] = ()) -> str:
    """How a table stands, by its jobs.

    >>> table_state({"items.1": "completed", "items.2": "running"})
    'running'
    >>> table_state({"items.1": "completed", "items.2": "new"}, retried=["items.2"])
    'retried'
    """
    states = set(jobs.values())
    if "failed" in states:
        return "failed"
    if "running" in states:
        return "running"
    if states <= {"completed"}:
        return "done"
    return "retried" if any(jobs[job] == "new" for job in retried if job in jobs) else "waiting"


class JobProgress:
    """Tells what has changed since it was told last; `sizes` are the bytes of tables."""

    def __init__(self, collector: Collector, sizes: Mapping[str, int | None]) -> None:
        self._collector, self._sizes = collector, sizes
        self._tables: dict[str, dict[str, JobState]] = {}
        self._last_states: dict[str, JobState] = {}
        self._reasons: dict[str, str] = {}

    def record_reason(self, job: str, message: str) -> None:
        """Why a job is tried again, or has failed; told with its table."""
        self._reasons[job] = message

    def report(self, job_board: JobBoard) -> None:
        """Tell what is new of the jobs, their tables and their rows."""
        # Most calls find one job changed, of any number of jobs.
        changed = {
            job: state for job, state in job_board.states.items() if self._last_states.get(job) != state
        }
        if not changed:
            return
        ended = [
            job for job, state in changed.items() if state in _ENDED and self._last_state(job) not in _ENDED
        ]
        self._last_states |= changed
        for job, state in changed.items():
            self._tables.setdefault(table_of(job), {})[job] = state
        self._collector.update(JOBS, inc=len(ended), total=len(job_board.states))
        for table in dict.fromkeys(map(table_of, changed)):
            self._report_table(table)
        for job in ended:
            for applied in job_board.applied_jobs(job) if changed[job] == "completed" else ():
                self._collector.update(applied.table, inc=applied.rows or 0)

    def _last_state(self, job: str) -> JobState:
        return self._last_states.get(job, "new")

    def _report_table(self, table: str) -> None:
        jobs = self._tables[table]
        state = table_state(jobs, self._reasons)
        wrong = [job for job in jobs if job in self._reasons]
        message = self._reasons[wrong[-1]] if wrong and state in {"failed", "retried"} else None
        self._collector.mark(table, state, size=self._sizes.get(table), message=message)
