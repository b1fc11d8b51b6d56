"""The jobs of one load and where they stand: every change is in the package before it counts here."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Final

from penstock.errors import PackageDamaged
from penstock.interfaces import AppliedJob, ParsedLoadJobFileName
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

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from penstock.interfaces.capabilities import TLoaderParallelismStrategy
    from penstock.package import DataFolder, Manifest, Package, PackageStorage, TJobState

_STATES: Final[Mapping[TJobState, JobState]] = {
    "new_jobs": "new",
    "started_jobs": "new",
    "completed_jobs": "completed",
    "failed_jobs": "failed",
}


class JobBoard:
    """What is left to do for a load.

    A job that follows others counts once it is noted under `followups/`: files that were imported and not
    noted, like those of a normalize that died, are left-overs and are removed.
    """

    def __init__(self, package: Package, storage: PackageStorage, chains: Iterable[Chain]) -> None:
        self._package, self._storage, self.load_id = package, storage, package.load_id
        self._file_names: dict[str, str] = {}
        self._restored: set[str] = set()
        self._applied: dict[str, Sequence[AppliedJob]] = {}
        self._followups: dict[str, tuple[str, ...]] = {}
        self.states: dict[str, JobState] = {}
        self._completed_before: frozenset[str] = frozenset()
        self._chains = {chain.root: chain for chain in chains}
        self._load_state()

    @property
    def chains(self) -> tuple[Chain, ...]:
        """All chains, with the jobs that follow them as far as they are known."""
        return tuple(self._chains.values())

    def chains_to_follow_up(self) -> list[Chain]:
        """Chains whose jobs are all completed, and of which nobody has asked yet what follows."""
        return [
            chain
            for chain in self.chains
            if not chain.has_chain_followups and is_complete(chain, self.states)
        ]

    def failed_chains(self) -> list[Chain]:
        """Chains with a failed job of which none is running any more."""
        return [
            chain
            for chain in self.chains
            if has_failed_job(chain, self.states) and all(self.states[job] != "running" for job in chain.jobs)
        ]

    def next_jobs(
        self, *, workers: int, strategy: TLoaderParallelismStrategy, paused: Collection[str]
    ) -> tuple[str, ...]:
        """The jobs that may start now."""
        return next_jobs(self.chains, self.states, workers=workers, strategy=strategy, paused=paused)

    def start(self, job: str, *, staged: bool) -> JobTask:
        """Move a job file to the started ones, unless a process that is gone has done so."""
        restored = job in self._restored
        name = self._file_names[job]
        if restored:
            path = self._package.store.path(f"started_jobs/{name}")
        else:
            path = self._storage.start_job(self.load_id, name)
        self._restored.discard(job)
        self.states[job] = "running"
        return JobTask(
            job_id=job,
            path=path,
            table=table_of(job),
            load_id=self.load_id,
            is_restored=restored,
            is_staged=staged,
        )

    def unread_folders(self, manifest: Manifest) -> list[DataFolder]:
        """The folders with rows of jobs that are not completed."""
        left = [entry for entry in manifest.tables if self.states.get(entry.job_id) != "completed"]
        paths = {path for entry in left for path in entry.folders}
        return [folder for folder in manifest.folders if folder.path in paths]

    def was_started(self, job: str) -> bool:
        """Whether a job that is to be run was run before: nobody knows what it has done."""
        return job in self._restored or ParsedLoadJobFileName.parse(self._file_names[job]).retry_count > 0

    def abandon(self, job: str) -> None:
        """Nobody waits for the job any more; it is found among the started ones next time."""
        self.states[job] = "new"
        self._restored.add(job)

    def complete(self, job: str, applied: Sequence[AppliedJob], followups: Iterable[str]) -> None:
        """Import and note what follows the job, then move it to the completed ones with what it came to."""
        if job not in self._followups:
            chain = self._chain_of(job)
            self._chains[chain.root] = chain.with_followups_of(job, self._import_followups(job, followups))
        result = {"applied": [asdict(table) for table in applied]}
        self._storage.complete_job(self.load_id, self._file_names[job], result)
        self.states[job], self._applied[job] = "completed", tuple(applied)

    def add_chain_followups(self, chain: Chain, followups: Iterable[str]) -> None:
        """Import and note what follows a whole chain."""
        self._chains[chain.root] = chain.with_chain_followups(self._import_followups(chain.root, followups))

    def retry(self, job: str, message: str, *, terminal: bool = False) -> int:
        """Move a job back to the new ones; gives how many times it was tried."""
        kind = "terminal" if terminal else "transient"
        name = self._storage.retry_job(self.load_id, self._file_names[job], message, kind)
        self._file_names[job], self.states[job] = name, "new"
        return ParsedLoadJobFileName.parse(name).retry_count

    def fail(self, job: str, message: str) -> None:
        """Move a job to the failed ones, started or not."""
        if self.states[job] == "new" and job not in self._restored:
            self._storage.start_job(self.load_id, self._file_names[job])
        self._storage.fail_job(self.load_id, self._file_names[job], message)
        self._restored.discard(job)
        self.states[job] = "failed"

    def mark_undone(self, job: str, message: str) -> None:
        """Move a job that was completed to the failed ones: its chain is left out."""
        name = self._file_names[job]
        self._package.store.put(f"failed_jobs/{name}.exception", message.encode())
        self._package.store.move(f"completed_jobs/{name}", f"failed_jobs/{name}")
        self.states[job] = "failed"

    def results(self) -> list[AppliedJob]:
        """What the completed jobs came to."""
        jobs = [job for chain in self.chains if not has_failed_job(chain, self.states) for job in chain.jobs]
        return [table for job in jobs for table in self.applied_jobs(job)]

    def earlier_results(self) -> list[AppliedJob]:
        """What the jobs came to that an earlier process completed, without those of chains left out."""
        jobs = [job for job in self._completed_before if self.states[job] == "completed"]
        return [table for job in jobs for table in self.applied_jobs(job)]

    def applied_jobs(self, job: str) -> Sequence[AppliedJob]:
        """What a completed job came to; one that was completed by an earlier process counts as skipped."""
        if job not in self._applied:
            kept = self._package.jobs.result(ParsedLoadJobFileName.parse(self._file_names[job])) or {}
            tables = [AppliedJob(**table) for table in kept.get("applied", ())]
            self._applied[job] = tuple(replace(table, skipped=True) for table in tables)
        return self._applied[job]

    def failed_messages(self) -> dict[str, str]:
        """The failed jobs with their messages."""
        jobs = [job for job, state in self.states.items() if state == "failed"]
        names = {job: ParsedLoadJobFileName.parse(self._file_names[job]) for job in jobs}
        return {job: self._package.jobs.failed_message(name) or "" for job, name in names.items()}

    def _load_state(self) -> None:
        """Find every job where the package has it, and what follows it if that was noted."""
        self._package.jobs.repair()
        board = self._package.jobs.list_jobs().jobs
        self._followups = self._package.followups()
        self._chains = {chain.root: with_recorded_followups(chain, self._followups) for chain in self.chains}
        for job in (job for chain in self.chains for job in chain.jobs):
            if job not in board:
                raise PackageDamaged(path=self._package.path, reason=f"the file of job {job} is missing")
            self._file_names[job], self.states[job] = board[job].name.file_name(), _STATES[board[job].state]
            if board[job].state == "started_jobs":
                self._restored.add(job)
        self._completed_before = frozenset(job for job, state in self.states.items() if state == "completed")
        for job, placed in board.items():
            if job not in self.states:
                self._package.store.delete(placed.path)

    def _import_followups(self, owner: str, paths: Iterable[str]) -> tuple[str, ...]:
        """Take job files into the package. They count from the moment they are noted."""
        found: dict[str, str] = {}
        for path in filter(None, paths):
            self._storage.import_job(self.load_id, path)
            name = ParsedLoadJobFileName.parse(path)
            found[name.job_id()] = name.file_name()
        if found:
            self._package.record_followups(owner, list(found))
        self._followups[owner] = tuple(found)
        self._file_names.update(found)
        self.states.update(dict.fromkeys(found, "new"))
        return tuple(found)

    def _chain_of(self, job: str) -> Chain:
        return next(chain for chain in self.chains if job in chain.jobs)
