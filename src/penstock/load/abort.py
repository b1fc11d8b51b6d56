"""Takes back what a load that cannot be completed has done to its tables."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from penstock.config import logger
from penstock.errors import DestinationTerminalException, LoadIsDecided, TablesMovedOn
from penstock.interfaces import AppliedJob, WithUndo
from penstock.load.failures import describe_error, is_terminal
from penstock.load.plan import chains_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from penstock.interfaces import LoadMark
    from penstock.load.run import LoadTarget
    from penstock.package import Manifest, Package
    from penstock.package.slots import LoadDecision

_LOG = logger("penstock.load")
_COMMITS_KEY: Final = "take_back"


def has_started(package: Package) -> bool:
    """Whether a job of the package was ever started; before that no table was touched."""
    jobs = package.jobs.list_jobs().jobs.values()
    return any(job.state != "new_jobs" or job.name.retry_count for job in jobs)


def commits_to_undo(manifest: Manifest, target: LoadTarget) -> tuple[AppliedJob, ...]:
    """What a sealed load has done so far, as its tables tell; roots come before those nested in them.

    A process may have died between a commit and its note, so the package is not asked. Raises when a table
    was changed since, with all tables of which that is true, and when it is decided that the load counts.
    """
    outcome = target.packages.slots.find_decision(manifest.sequence)
    if outcome is not None and outcome.decision == "commit":
        raise LoadIsDecided(load_id=manifest.load_id, sequence=manifest.sequence)
    if not has_started(target.packages.package(manifest.load_id)):
        return ()
    chains = chains_of(manifest.tables, target.client_factory.schema.tables)
    found: list[AppliedJob] = []
    moved_on: dict[str, str] = {}
    with target.client_factory.client() as client:
        if not isinstance(client, WithUndo):
            _LOG.warning(
                "load %s is dropped, and rows that it has brought stay: the destination cannot undo",
                manifest.load_id,
            )
            return ()
        for table in (table for chain in chains for table in chain.tables):
            try:
                applied = client.to_undo(table, manifest.mark)
            except DestinationTerminalException as error:
                moved_on[table] = error.message
            else:
                found += [applied] if applied is not None else []
    if moved_on:
        raise TablesMovedOn(load_id=manifest.load_id, tables=moved_on)
    return tuple(found)


def abort_load(manifest: Manifest, target: LoadTarget, commits: Sequence[AppliedJob]) -> None:
    """Decide that a sealed load will never count, and take back what `to_take_back` has found.

    The decision comes first and says what is to be taken back, so that whoever finds it can go on. A load
    that is decided otherwise is left alone, with an error. One that was begun has tables to be fenced, even
    if it has changed none.
    """
    target.assert_leased()
    begun = has_started(target.packages.package(manifest.load_id))
    facts = {_COMMITS_KEY: [asdict(table) for table in commits]} if begun else None
    outcome = target.packages.abort(manifest, facts)
    if outcome.facts:
        undo_commits(manifest, outcome, target)


def undo_commits(manifest: Manifest, outcome: LoadDecision, target: LoadTarget) -> None:
    """Do what was decided when the load was given up; safe to call again.

    Each table is fenced first, changed or not, so that a process that is late cannot commit to it any more.
    A table that cannot be taken back any more stays as it is, and is told: the decision stands, and it must
    not keep the pipeline from going on.
    """
    changed = _recorded_commits(outcome.facts)
    chains = chains_of(manifest.tables, target.client_factory.schema.tables)
    undone: list[str] = []
    with target.client_factory.client() as client:
        if isinstance(client, WithUndo):
            for table in (table for chain in chains for table in chain.tables):
                target.assert_leased()
                undone += [table] if _fence_and_undo(client, table, changed.get(table), manifest.mark) else []
    target.packages.finish(manifest.load_id, "aborted", target.retention)
    if undone:
        names = ", ".join(undone)
        _LOG.warning("load %s is dropped, and its rows were taken back from %s", manifest.load_id, names)


def _fence_and_undo(client: WithUndo, table: str, recorded: AppliedJob | None, mark: LoadMark) -> bool:
    """Fence a table and take back what the load did to it; returns whether there was anything."""
    try:
        client.fence(table, mark)
        # A commit may have come after the tables were asked; after the fence none comes.
        applied = recorded or client.to_undo(table, mark)
        if applied is None:
            return False
        client.undo(applied, mark.load_id)
    except Exception as error:  # a stranger's code may raise anything
        if not is_terminal(error):
            raise
        _LOG.error("rows of load %s stay in %s: %s", mark.load_id, table, describe_error(error))
        return False
    return True


def _recorded_commits(facts: Mapping[str, Any]) -> dict[str, AppliedJob]:
    tables: Iterable[Mapping[str, Any]] = facts.get(_COMMITS_KEY, ())
    return {table["table"]: AppliedJob(**table) for table in tables}
