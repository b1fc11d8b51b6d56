"""The jobs of one load and their states; every change is written to the package first."""

from __future__ import annotations

from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from penstock.errors import PackageDamaged
from penstock.interfaces import AppliedJob, ParsedLoadJobFileName
from penstock.interfaces.progress import JOBS
from penstock.load.plan import (
    Chain,
    JobState,
    has_failed_job,
    is_complete,
    next_jobs,
    table_of,
    with_recorded_followups,
)
from penstock.load.worker import JobTask
from penstock.package.job_folders import is_retry_message
from penstock.package.metrics import LoadJobMetrics

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from penstock.interfaces.capabilities import TLoaderFileFormat, TLoaderParallelismStrategy
    from penstock.interfaces.progress import Collector
    from penstock.package import DataFolder, Manifest, Package, PackageStorage, TJobState

_STATES: Final[Mapping[TJobState, JobState]] = {
    "new_jobs": "new",
    "started_jobs": "new",
    "completed_jobs": "completed",
    "failed_jobs": "failed",
}


_ENDED: Final = frozenset(("completed", "failed"))


class JobBoard:
    """The jobs of a load, with their states, files and results.

    A follow-up job counts once it is recorded under `followups/`: job files that were imported and not
    recorded, like those of a normalize that died, are removed.
    """

    def __init__(self, package: Package, storage: PackageStorage, chains: Iterable[Chain]) -> None:
        self._package, self._storage, self.load_id = package, storage, package.load_id
        self._file_names: dict[str, str] = {}
        self._restored: set[str] = set()
        self._applied: dict[str, Sequence[AppliedJob]] = {}
        self._followups: dict[str, tuple[str, ...]] = {}
        self._dismissed: set[str] = set()
        self._times: dict[str, tuple[datetime | None, datetime | None]] = {}
        self.states: dict[str, JobState] = {}
        self._completed_before: frozenset[str] = frozenset()
        self._chains = {chain.root: chain for chain in chains}
        self._load_state()

    @property
    def chains(self) -> tuple[Chain, ...]:
        """All chains, with their known follow-up jobs."""
        return tuple(self._chains.values())

    def chains_to_follow_up(self) -> list[Chain]:
        """Return the completed chains whose follow-up jobs were not requested yet."""
        return [
            chain
            for chain in self.chains
            if not chain.has_chain_followups and is_complete(chain, self.states)
        ]

    def failed_chains(self) -> list[Chain]:
        """Return the chains with a failed job and no running one."""
        return [
            chain
            for chain in self.chains
            if has_failed_job(chain, self.states) and all(self.states[job] != "running" for job in chain.jobs)
        ]

    def next_jobs(
        self, *, workers: int, strategy: TLoaderParallelismStrategy, paused: Collection[str]
    ) -> tuple[str, ...]:
        """Return the jobs that may start now."""
        return next_jobs(self.chains, self.states, workers=workers, strategy=strategy, paused=paused)

    def start(self, job: str, *, staged: bool, file_format: TLoaderFileFormat = "reference") -> JobTask:
        """Move a job file to `started_jobs`, unless an earlier process did."""
        restored = job in self._restored
        name = self._file_names[job]
        if restored:
            path = self._package.store.path(f"started_jobs/{name}")
        else:
            path = self._storage.start_job(self.load_id, name)
        self._restored.discard(job)
        self.states[job] = "running"
        self._times[job] = (datetime.now(UTC), None)
        return JobTask(
            job_id=job,
            path=path,
            table=table_of(job),
            load_id=self.load_id,
            is_restored=restored,
            is_staged=staged,
            file_format=file_format,
        )

    def unread_folders(self, manifest: Manifest) -> list[DataFolder]:
        """Return the folders with rows of jobs that are not completed."""
        pending = [entry for entry in manifest.tables if self.states.get(entry.job_id) != "completed"]
        paths = {path for entry in pending for path in entry.folders}
        return [folder for folder in manifest.folders if folder.path in paths]

    def was_started(self, job: str) -> bool:
        """Return whether an earlier attempt of the job may have changed tables."""
        return job in self._restored or ParsedLoadJobFileName.parse(self._file_names[job]).retry_count > 0

    def abandon(self, job: str) -> None:
        """Stop waiting for a job; its file remains in `started_jobs` for the next run."""
        self.states[job] = "new"
        self._restored.add(job)

    def complete(self, job: str, applied: Sequence[AppliedJob], followups: Iterable[str]) -> None:
        """Import and record follow-up jobs, then move the job to `completed_jobs` with its result.

        The caller has just checked the lease.
        """
        if job not in self._followups:
            chain = self._chain_of(job)
            self._chains[chain.root] = chain.with_followups_of(job, self._import_followups(job, followups))
        result = {"applied": [asdict(table) for table in applied]}
        self._storage.complete_job(self.load_id, self._file_names[job], result, is_leased=True)
        self.states[job], self._applied[job] = "completed", tuple(applied)
        self._record_end(job)

    def add_chain_followups(self, chain: Chain, followups: Iterable[str]) -> None:
        """Import and record the jobs that follow a whole chain."""
        self._chains[chain.root] = chain.with_chain_followups(self._import_followups(chain.root, followups))

    def retry(self, job: str, message: str, *, terminal: bool = False) -> int:
        """Move a job back to `new_jobs`; return its number of tries."""
        kind = "terminal" if terminal else "transient"
        name = self._storage.retry_job(self.load_id, self._file_names[job], message, kind)
        self._file_names[job], self.states[job] = name, "new"
        return ParsedLoadJobFileName.parse(name).retry_count

    def reopen(self, job: str) -> None:
        """Move a completed job back to `started_jobs`, because its changes are gone."""
        name = self._file_names[job]
        self._package.store.move(f"completed_jobs/{name}", f"started_jobs/{name}")
        self.states[job] = "running"
        del self._applied[job]

    def fail(self, job: str, message: str) -> None:
        """Move a job to `failed_jobs`, started or not."""
        if self.states[job] == "new" and job not in self._restored:
            self._storage.start_job(self.load_id, self._file_names[job])
        self._storage.fail_job(self.load_id, self._file_names[job], message)
        self._restored.discard(job)
        self.states[job] = "failed"
        self._record_end(job)

    def mark_undone(self, job: str, message: str) -> None:
        """Move a completed job to `failed_jobs`: its chain is left out."""
        name = self._file_names[job]
        self._package.store.put(f"failed_jobs/{name}.exception", message.encode())
        self._package.store.move(f"completed_jobs/{name}", f"failed_jobs/{name}")
        self.states[job] = "failed"

    def is_dismissed(self, job: str) -> bool:
        """Return whether a user has moved the job to `failed_jobs`, and its tries are not undone yet."""
        return job in self._dismissed

    def record_undone_tries(self, job: str, message: str) -> None:
        """Record that what the tries of a dismissed job wrote is undone."""
        name = self._file_names[job]
        self._package.store.put(f"failed_jobs/{name}.exception", message.encode(errors="backslashreplace"))
        self._dismissed.discard(job)

    def results(self) -> list[AppliedJob]:
        """Return the results of all completed jobs."""
        jobs = [job for chain in self.chains if not has_failed_job(chain, self.states) for job in chain.jobs]
        return [table for job in jobs for table in self.applied_jobs(job)]

    def own_results(self) -> list[tuple[str, Sequence[AppliedJob]]]:
        """Return the results of the jobs that this process completed, with the ids of the jobs."""
        return [(job, applied) for job, applied in self._applied.items() if job not in self._completed_before]

    def earlier_results(self) -> list[AppliedJob]:
        """Return the results of jobs that an earlier process completed, without those of chains left out."""
        jobs = [job for job in self._completed_before if self.states[job] == "completed"]
        return [table for job in jobs for table in self.applied_jobs(job)]

    def applied_jobs(self, job: str) -> Sequence[AppliedJob]:
        """Return the results of a completed job; `skipped` if an earlier process completed it."""
        if job not in self._applied:
            result = self._package.jobs.result(ParsedLoadJobFileName.parse(self._file_names[job])) or {}
            tables = [AppliedJob(**table) for table in result.get("applied", ())]
            self._applied[job] = tuple(replace(table, skipped=True) for table in tables)
        return self._applied[job]

    def metrics(self) -> tuple[LoadJobMetrics, ...]:
        """Return every job with its state; one that an earlier process ran has no times."""
        return tuple(self._job_metrics(job) for job in self.states)

    def _job_metrics(self, job: str) -> LoadJobMetrics:
        name, state = self._file_names[job], self.states[job]
        started_at, finished_at = self._times.get(job, (None, None))
        return LoadJobMetrics(
            job_id=job,
            file_path=self._package.store.path(f"{state}_jobs/{name}"),
            table_name=table_of(job),
            started_at=started_at,
            finished_at=finished_at,
            state=state,
            retry_count=ParsedLoadJobFileName.parse(name).retry_count,
            followup_jobs=self._followups.get(job, ()),
        )

    def completed_paths(self) -> dict[str, str]:
        """Return the address of the job file of each table, of all chains without a failed job."""
        jobs = [job for chain in self.chains if not has_failed_job(chain, self.states) for job in chain.jobs]
        return {
            table_of(job): self._package.store.path(f"completed_jobs/{self._file_names[job]}") for job in jobs
        }

    def failed_messages(self) -> dict[str, str]:
        """Return the messages of failed jobs, by job id."""
        jobs = [job for job, state in self.states.items() if state == "failed"]
        names = {job: ParsedLoadJobFileName.parse(self._file_names[job]) for job in jobs}
        return {job: self._package.jobs.failed_message(name) or "" for job, name in names.items()}

    def _load_state(self) -> None:
        """Read the state of every job, and its recorded follow-up jobs, from the package."""
        listed = self._package.jobs.repair().jobs
        self._followups = self._package.followups()
        self._chains = {chain.root: with_recorded_followups(chain, self._followups) for chain in self.chains}
        for job in (job for chain in self.chains for job in chain.jobs):
            if job not in listed:
                raise PackageDamaged(path=self._package.path, reason=f"the file of job {job} is missing")
            self._file_names[job], self.states[job] = listed[job].name.file_name(), _STATES[listed[job].state]
            if listed[job].state == "started_jobs":
                self._restored.add(job)
            if listed[job].state == "failed_jobs" and is_retry_message(
                self._package.jobs.failed_message(listed[job].name)
            ):
                self._dismissed.add(job)
        self._completed_before = frozenset(job for job, state in self.states.items() if state == "completed")
        for job, job_file in listed.items():
            if job not in self.states:
                self._package.store.delete_file(job_file.path)

    def _import_followups(self, owner: str, paths: Iterable[str]) -> tuple[str, ...]:
        """Move job files into the package, then record them; return the job ids."""
        file_names: dict[str, str] = {}
        for path in filter(None, paths):
            self._storage.import_job(self.load_id, path)
            name = ParsedLoadJobFileName.parse(path)
            file_names[name.job_id()] = name.file_name()
        if file_names:
            self._package.record_followups(owner, list(file_names))
        self._followups[owner] = tuple(file_names)
        self._file_names.update(file_names)
        self.states.update(dict.fromkeys(file_names, "new"))
        return tuple(file_names)

    def _record_end(self, job: str) -> None:
        started_at, _ = self._times.get(job, (None, None))
        self._times[job] = (started_at, datetime.now(UTC))

    def _chain_of(self, job: str) -> Chain:
        return next(chain for chain in self.chains if job in chain.jobs)


def table_state(jobs: Mapping[str, JobState], retried: Collection[str] = ()) -> str:
    """Return the state of a table, from the states of its jobs.

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
    """Reports changes of jobs and tables to a collector; `sizes` are the bytes of tables."""

    def __init__(self, collector: Collector, sizes: Mapping[str, int | None]) -> None:
        self._collector, self._sizes = collector, sizes
        self._tables: dict[str, dict[str, JobState]] = {}
        self._last_states: dict[str, JobState] = {}
        self._reasons: dict[str, str] = {}

    def record_reason(self, job: str, message: str) -> None:
        """Record why a job is retried or has failed, for the next report of its table."""
        self._reasons[job] = message

    def report(self, job_board: JobBoard) -> None:
        """Report what has changed since the last call: jobs, their tables and rows."""
        # Most calls find one changed job among many.
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
        unsuccessful = [job for job in jobs if job in self._reasons]
        message = self._reasons[unsuccessful[-1]] if unsuccessful and state in {"failed", "retried"} else None
        self._collector.mark(table, state, size=self._sizes.get(table), message=message)
