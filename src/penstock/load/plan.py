"""Pure decisions of a load: the chains of tables, the next jobs, and the results by table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING, Literal, assert_never

from penstock.interfaces.loadjob import AppliedJob
from penstock.interfaces.refresh import RENEW, renewal_of
from penstock.schema import root_table

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from penstock.interfaces.capabilities import TLoaderParallelismStrategy
    from penstock.package import TableEntry
    from penstock.schema import Table, TSchemaTables, TTableSchema

JobState = Literal["new", "running", "completed", "failed"]
_MAX_RETRY_DELAY = 10.0
_WITH_ABSENT_TABLES = frozenset(("replace", "merge"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """A root table and the tables nested in it.

    A wave of jobs starts when the wave before it is completed. Nested tables come before their root, so a
    reader of a root row finds its children; jobs that follow the whole chain come last.
    """

    root: str
    tables: tuple[str, ...]
    """Root first: tables that get rows, and for replace and merge also those that had rows and get none."""
    waves: tuple[tuple[str, ...], ...]
    write_disposition: str = "append"
    has_chain_followups: bool = False
    """Whether the waves include the jobs that follow the whole chain."""

    @property
    def jobs(self) -> tuple[str, ...]:
        """All jobs, in the order of the waves."""
        return tuple(job for wave in self.waves for job in wave)

    def with_followups_of(self, job: str, followups: Iterable[str]) -> Chain:
        """Return a copy in which the follow-up jobs of a job join its wave."""
        waves = tuple((*wave, *followups) if job in wave else wave for wave in self.waves)
        return replace(self, waves=waves)

    def with_chain_followups(self, followups: Sequence[str]) -> Chain:
        """Return a copy with the jobs that follow the whole chain."""
        waves = (*self.waves, tuple(followups)) if followups else self.waves
        return replace(self, waves=waves, has_chain_followups=True)


def table_of(job: str) -> str:
    """Return the table of a job, given its id or file name."""
    return job.split(".", 1)[0]


def is_merged_without_key(table: TTableSchema) -> bool:
    """Return whether a prepared root table is merged by key and has none: its rows are appended.

    >>> table = {"write_disposition": "merge", "x-merge-strategy": "delete-insert", "columns": {"id": {}}}
    >>> is_merged_without_key(table), is_merged_without_key({**table, "columns": {"id": {"merge_key": True}}})
    (True, False)
    """
    columns = table.get("columns", {}).values()
    return (
        table.get("write_disposition") == "merge"
        and table.get("x-merge-strategy") == "delete-insert"
        and not any(column.get("primary_key") or column.get("merge_key") for column in columns)
    )


def chains_of(entries: Iterable[TableEntry], tables: Mapping[str, Table]) -> tuple[Chain, ...]:
    """Return the chains of a load, in the order of their first tables."""
    jobs: dict[str, list[str]] = {}
    for entry in entries:
        root = root_table(entry.table, tables).name
        jobs.setdefault(root, []).append(entry.job_id)
    return tuple(_chain(root, job_ids, tables) for root, job_ids in jobs.items())


def _chain(root: str, jobs: Sequence[str], tables: Mapping[str, Table]) -> Chain:
    disposition = tables[root].write_disposition or "append"
    nested_jobs = tuple(job for job in jobs if table_of(job) != root)
    root_jobs = tuple(job for job in jobs if table_of(job) == root)
    with_jobs = {table_of(job) for job in jobs}
    includes_absent = disposition in _WITH_ABSENT_TABLES or renewal_of(root, tables) == "rows"
    below = (
        name
        for name, table in tables.items()
        if table.is_nested
        and root_table(name, tables).name == root
        and (name in with_jobs or (includes_absent and table.has_seen_data))
    )
    return Chain(
        root=root,
        tables=(root, *below),
        waves=tuple(wave for wave in (nested_jobs, root_jobs) if wave),
        write_disposition=disposition,
    )


def with_recorded_followups(chain: Chain, recorded: Mapping[str, Sequence[str]]) -> Chain:
    """Return the chain with all its recorded follow-up jobs, direct and indirect.

    `recorded` maps a job id to its follow-up jobs, and a root table to the jobs that follow its whole chain.
    """
    extended = chain.with_chain_followups(recorded[chain.root]) if chain.root in recorded else chain
    queue, seen = list(extended.jobs), set[str]()
    while queue:
        job = queue.pop()
        followups = recorded.get(job, ()) if job not in seen else ()
        seen.add(job)
        extended = extended.with_followups_of(job, followups)
        queue += followups
    return extended


def has_failed_job(chain: Chain, states: Mapping[str, JobState]) -> bool:
    """Return whether a job has failed, so that the whole chain is left out."""
    return any(states[job] == "failed" for job in chain.jobs)


def is_complete(chain: Chain, states: Mapping[str, JobState]) -> bool:
    """Return whether all known jobs are completed."""
    return all(states[job] == "completed" for job in chain.jobs)


def startable_jobs(chain: Chain, states: Mapping[str, JobState]) -> tuple[str, ...]:
    """Return the new jobs of the first wave that is not completed; none of a failed chain."""
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
    """Return the jobs to start now: as many as there are free workers."""
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
    """Return whether the run stops after this many tries; the next run has as many again."""
    return retry_count > 0 and retry_count % max_retries == 0


def retry_delay(retry_count: int, *, first: float) -> float:
    """Return the seconds before a job is retried: they double each time, up to ten."""
    return min(first * float(2 ** (retry_count - 1)), _MAX_RETRY_DELAY)


def results_by_table(results: Iterable[AppliedJob]) -> dict[str, AppliedJob]:
    """Return the combined results of all jobs, by table.

    Rows are summed over the jobs that counted them. A table is `skipped` if all its jobs were.
    """
    by_table: dict[str, AppliedJob] = {}
    for result in results:
        earlier = by_table.get(result.table)
        by_table[result.table] = result if earlier is None else _merge_results(earlier, result)
    return by_table


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
    """Return the new tables of `after`, and its known tables with their new columns only."""
    update: TSchemaTables = {}
    for name in only_tables:
        table, stored = after[name], before.get(name)
        stored_columns = {column.name for column in stored.complete_columns()} if stored else set()
        new_columns = [column for column in table.complete_columns() if column.name not in stored_columns]
        if new_columns or stored is None:
            plain = table.without_extras(RENEW)  # the hint is for the jobs of this load only
            update[name] = plain.without_columns(*table.columns).with_columns(new_columns).to_dict()
    return update


def file_count(sizes: Iterable[int | None], file_size: int | None) -> int | None:
    """Return the number of files for rows of these sizes in bytes; None for as many as Spark writes.

    >>> file_count([600, 500], 1000), file_count([600, 500], None), file_count([600, None], 1000)
    (2, None, None)
    """
    parts = list(sizes)
    if file_size is None or None in parts:
        return None
    return max(1, ceil(sum(size or 0 for size in parts) / file_size))


def next_sequence(*used: int | None) -> int:
    """Return the number after all used ones. A clock would lose data when it is set back."""
    return max((number or 0 for number in used), default=0) + 1
