"""Which jobs of a load may start now, and what their results add up to: pure decisions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, assert_never

from penstock.interfaces.loadjob import AppliedJob
from penstock.interfaces.refresh import RENEW, renewal_of
from penstock.schema import root_table

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from penstock.interfaces.capabilities import TLoaderParallelismStrategy
    from penstock.package import TableEntry
    from penstock.schema import Table, TSchemaTables

JobState = Literal["new", "running", "completed", "failed"]
_MAX_RETRY_DELAY = 10.0
_WITH_ABSENT_TABLES = frozenset(("replace", "merge"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """A root table and the tables nested in it.

    Jobs, by id, stand in waves: a wave starts when the one before it is completed. Nested tables come before
    their root, so whoever sees a root row finds its children; what follows the whole chain comes last.
    """

    root: str
    tables: tuple[str, ...]
    """Root first: tables that get rows, and for replace and merge those that had some and get none."""
    waves: tuple[tuple[str, ...], ...]
    write_disposition: str = "append"
    has_chain_followups: bool = False
    """Whether the jobs that follow the whole chain are among the waves."""

    @property
    def jobs(self) -> tuple[str, ...]:
        """All jobs, in the order of the waves."""
        return tuple(job for wave in self.waves for job in wave)

    def with_followups_of(self, job: str, followups: Iterable[str]) -> Chain:
        """Copy with jobs that follow one of its jobs: they join its wave."""
        waves = tuple((*wave, *followups) if job in wave else wave for wave in self.waves)
        return replace(self, waves=waves)

    def with_chain_followups(self, followups: Sequence[str]) -> Chain:
        """Copy with the jobs that follow the whole chain."""
        waves = (*self.waves, tuple(followups)) if followups else self.waves
        return replace(self, waves=waves, has_chain_followups=True)


def table_of(job: str) -> str:
    """The table that a job is for, by the job's id or file name."""
    return job.split(".", 1)[0]


def chains_of(entries: Iterable[TableEntry], tables: Mapping[str, Table]) -> tuple[Chain, ...]:
    """The chains of a load, in the order in which their first table is named."""
    jobs: dict[str, list[str]] = {}
    for entry in entries:
        root = root_table(entry.table, tables).name
        jobs.setdefault(root, []).append(entry.job_id)
    return tuple(_chain(root, found, tables) for root, found in jobs.items())


def _chain(root: str, jobs: Sequence[str], tables: Mapping[str, Table]) -> Chain:
    disposition = tables[root].write_disposition or "append"
    nested = tuple(job for job in jobs if table_of(job) != root)
    at_last = tuple(job for job in jobs if table_of(job) == root)
    with_jobs = {table_of(job) for job in jobs}
    absent_too = disposition in _WITH_ABSENT_TABLES or renewal_of(root, tables) == "rows"
    below = (
        name
        for name, table in tables.items()
        if table.is_nested
        and root_table(name, tables).name == root
        and (name in with_jobs or (absent_too and table.has_seen_data))
    )
    return Chain(
        root=root,
        tables=(root, *below),
        waves=tuple(wave for wave in (nested, at_last) if wave),
        write_disposition=disposition,
    )


def with_recorded_followups(chain: Chain, recorded: Mapping[str, Sequence[str]]) -> Chain:
    """The chain with all jobs that were noted to follow it, its jobs, or jobs that follow those.

    `noted` has them by the id of the job they follow, or by the root where they follow the whole chain.
    """
    known = chain.with_chain_followups(recorded[chain.root]) if chain.root in recorded else chain
    waiting, seen = list(known.jobs), set[str]()
    while waiting:
        job = waiting.pop()
        followups = recorded.get(job, ()) if job not in seen else ()
        seen.add(job)
        known = known.with_followups_of(job, followups)
        waiting += followups
    return known


def has_failed_job(chain: Chain, states: Mapping[str, JobState]) -> bool:
    """Whether a job has failed, so that the chain is left out whole."""
    return any(states[job] == "failed" for job in chain.jobs)


def is_complete(chain: Chain, states: Mapping[str, JobState]) -> bool:
    """Whether all jobs known so far are completed."""
    return all(states[job] == "completed" for job in chain.jobs)


def startable_jobs(chain: Chain, states: Mapping[str, JobState]) -> tuple[str, ...]:
    """The new jobs of the first wave that is not completed; none of a chain that is broken."""
    if has_failed_job(chain, states):
        return ()
    for wave in chain.waves:
        if any(states[job] != "completed" for job in wave):
            return tuple(job for job in wave if states[job] == "new")
    return ()


def next_jobs(
    chains: Iterable[Chain],
    states: Mapping[str, JobState],
    *,
    workers: int,
    strategy: TLoaderParallelismStrategy = "parallel",
    paused: Collection[str] = (),
) -> tuple[str, ...]:
    """The jobs to start now, beside those that run: as many as there are workers for."""
    ready = [job for chain in chains for job in startable_jobs(chain, states) if job not in paused]
    running = [job for job, state in states.items() if state == "running"]
    match strategy:
        case "parallel":
            chosen = ready
        case "sequential":
            chosen = [] if running else ready[:1]
        case "table-sequential":
            busy = {table_of(job) for job in running}
            first = {table_of(job): job for job in reversed(ready)}
            chosen = [job for table, job in first.items() if table not in busy]
        case _:
            assert_never(strategy)
    return tuple(chosen[: max(workers - len(running), 0)])


def is_last_try(retry_count: int, *, max_retries: int) -> bool:
    """Whether the run stops after this many tries; a later run has as many again."""
    return retry_count > 0 and retry_count % max_retries == 0


def retry_delay(retry_count: int, *, first: float) -> float:
    """Seconds to wait before a job is tried again: twice as long each time, up to ten."""
    return min(first * float(2 ** (retry_count - 1)), _MAX_RETRY_DELAY)


def results_by_table(results: Iterable[AppliedJob]) -> dict[str, AppliedJob]:
    """What all jobs together came to, for each table.

    Rows add up; where a job counted none, those of the others count. A table was skipped if all of it was.
    """
    found: dict[str, AppliedJob] = {}
    for result in results:
        known = found.get(result.table)
        found[result.table] = result if known is None else _merge_results(known, result)
    return found


def _merge_results(first: AppliedJob, second: AppliedJob) -> AppliedJob:
    rows = [job.rows for job in (first, second) if job.rows is not None]
    before = [job.version_before for job in (first, second) if job.version_before is not None]
    after = [job.version_after for job in (first, second) if job.version_after is not None]
    is_new = any(job.version_after is not None and job.version_before is None for job in (first, second))
    return AppliedJob(
        table=first.table,
        rows=sum(rows) if rows else None,
        version_before=None if is_new or not before else min(before),
        version_after=max(after, default=None),
        skipped=first.skipped and second.skipped,
    )


def schema_update(
    before: Mapping[str, Table], after: Mapping[str, Table], only_tables: Collection[str]
) -> TSchemaTables:
    """What `after` has more than `before`: new tables, and known ones with their new columns only."""
    update: TSchemaTables = {}
    for name in only_tables:
        table, known = after[name], before.get(name)
        had = {column.name for column in known.complete_columns()} if known else set()
        new = [column for column in table.complete_columns() if column.name not in had]
        if new or known is None:
            plain = table.without_extras(RENEW)  # for the jobs of this load, and nobody else
            update[name] = plain.without_columns(*table.columns).with_columns(new).to_dict()
    return update


def next_sequence(*used: int | None) -> int:
    """Return the number after all that were used. A clock would lose data when it goes back."""
    return max((number or 0 for number in used), default=0) + 1
