"""Aborts a sealed load: decides that it never counts, then undoes its commits."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from penstock.config import logger
from penstock.errors import DestinationTerminalException, LoadIsDecided, TablesMovedOn
from penstock.interfaces import AppliedJob, WithUndo
from penstock.load.plan import chains_of
from penstock.load.worker import describe_error, is_terminal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from penstock.interfaces import LoadMark
    from penstock.load.target import LoadTarget
    from penstock.package import Manifest, Package
    from penstock.package.slots import LoadDecision

_LOG = logger("penstock.load")
_COMMITS_KEY: Final = "take_back"


def has_started(package: Package) -> bool:
    """Return whether a job of the package was ever started; before that no table was touched."""
    jobs = package.jobs.list_jobs().jobs.values()
    return any(job.state != "new_jobs" or job.name.retry_count for job in jobs)


def commits_to_undo(manifest: Manifest, target: LoadTarget) -> tuple[AppliedJob, ...]:
    """Return the commits of a sealed load, read from table history; roots come before their nested tables.

    The package is not used: a process may have died between a commit and its record. Raise `TablesMovedOn`
    with all tables that were changed since, and `LoadIsDecided` when the load is committed.
    """
    decision = target.packages.slots.find_decision(manifest.sequence)
    if decision is not None and decision.decision == "commit":
        raise LoadIsDecided(load_id=manifest.load_id, sequence=manifest.sequence)
    if not _may_have_commits(manifest, target):
        return ()
    commits: list[AppliedJob] = []
    moved_on: dict[str, str] = {}
    with target.client() as client:
        if not isinstance(client, WithUndo):
            _LOG.warning(
                "load %s is aborted, but its rows remain: the destination cannot undo", manifest.load_id
            )
            return ()
        for table in _tables_of(manifest, target):
            try:
                applied = client.to_undo(table, manifest.mark)
            except DestinationTerminalException as error:
                moved_on[table] = error.message
            else:
                commits += [applied] if applied is not None else []
    if moved_on:
        raise TablesMovedOn(load_id=manifest.load_id, tables=moved_on)
    return tuple(commits)


def abort_load(manifest: Manifest, target: LoadTarget, commits: Sequence[AppliedJob]) -> None:
    """Abort a sealed load and undo `commits`, the result of `commits_to_undo`.

    The decision is written first and names the commits, so that another process can continue. A started load
    has its tables fenced even if it has no commits. Raise when the load is already committed.
    """
    target.assert_leased()
    started = _may_have_commits(manifest, target)
    facts = {_COMMITS_KEY: [asdict(table) for table in commits]} if started else None
    decision = target.packages.abort(manifest, facts)
    if decision.facts:
        undo_commits(manifest, decision, target)


def undo_commits(manifest: Manifest, decision: LoadDecision, target: LoadTarget) -> None:
    """Fence every table of an aborted load, undo the recorded commits and finish the package. Idempotent.

    The fence stops a late process from committing, also to tables without a commit so far. A table that
    cannot be undone any more is logged: it must not block the pipeline.
    """
    commits = _recorded_commits(decision.facts)
    undone: list[str] = []
    with target.client() as client:
        if isinstance(client, WithUndo):
            for table in _tables_of(manifest, target):
                target.assert_leased()
                undone += [table] if _fence_and_undo(client, table, commits.get(table), manifest.mark) else []
    target.packages.finish(manifest.load_id, "aborted", target.retention)
    if undone:
        _LOG.warning("load %s is aborted and rolled back in %s", manifest.load_id, ", ".join(undone))


def _may_have_commits(manifest: Manifest, target: LoadTarget) -> bool:
    """Return whether a sealed load may have changed a table; an undo has no jobs that show it."""
    return manifest.undo is not None or has_started(target.packages.package(manifest.load_id))


def _tables_of(manifest: Manifest, target: LoadTarget) -> list[str]:
    if manifest.undo is not None:
        return [planned.table for planned in manifest.undo.tables if planned.version is not None]
    chains = chains_of(manifest.tables, target.schema.tables)
    return [table for chain in chains for table in chain.tables]


def _fence_and_undo(client: WithUndo, table: str, recorded: AppliedJob | None, mark: LoadMark) -> bool:
    """Fence a table and undo the commit of a load to it; return whether one existed."""
    try:
        client.fence(table, mark)
        # A commit may have followed the decision; none can follow the fence.
        applied = recorded or client.to_undo(table, mark)
        if applied is None:
            return False
        client.undo(applied, mark.load_id)
    except Exception as error:  # third-party code may raise anything
        if not is_terminal(error):
            raise
        _LOG.error("rows of load %s remain in %s: %s", mark.load_id, table, describe_error(error))
        return False
    return True


def _recorded_commits(facts: Mapping[str, Any]) -> dict[str, AppliedJob]:
    tables: Iterable[Mapping[str, Any]] = facts.get(_COMMITS_KEY, ())
    return {table["table"]: AppliedJob(**table) for table in tables}
