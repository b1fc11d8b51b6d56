"""The history of an Iceberg table: its snapshots and refs, and the loads that made them. No Spark here.

Snapshot ids are random: only the parents show their order.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from penstock.errors import DestinationAhead, DestinationTerminalException
from penstock.interfaces import AppliedJob, TableCommit

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from penstock.interfaces import LoadMark

MAIN: Final = "main"
PROPERTY_PREFIX: Final = "penstock."
"""The prefix of the snapshot properties that penstock writes."""
LOAD, PIPELINE, SEQUENCE, MANIFEST = (
    f"{PROPERTY_PREFIX}{name}" for name in ("load-id", "pipeline", "sequence", "manifest")
)
BRANCH_PREFIX: Final = "penstock_"
"""The prefix of the branches that penstock creates."""
REPLACES: Final = f"{PROPERTY_PREFIX}replaces"
"""The head of `main` before the table was recreated or restored: it is not the parent of the new snapshot."""
UNDONE: Final = f"{PROPERTY_PREFIX}undone"
_UNDONE_VERSION: Final = f"{PROPERTY_PREFIX}undone-snapshot"
_MERGE_COUNTS: Final = tuple(f"spark.merge-into.num-target-rows-{name}" for name in ("inserted", "updated"))
COUNT_PROPERTIES: Final = ("added-records", "total-records", *_MERGE_COUNTS)
"""The other properties of a summary that are read."""
_REWRITE: Final = "replace"
"""The operation of maintenance: files are rewritten with the same rows."""
_EMPTY_TABLE_COMMIT: Final = TableCommit(version=0, load_id="")
"""A table without commits belongs to an incomplete load."""


def load_properties(mark: LoadMark) -> dict[str, str]:
    """Return the properties of the snapshots of a load."""
    return {
        LOAD: mark.load_id,
        PIPELINE: mark.pipeline_name,
        SEQUENCE: str(mark.sequence),
        MANIFEST: mark.manifest_hash,
    }


def is_commit_of(summary: Mapping[str, str], mark: LoadMark) -> bool:
    """Return whether a snapshot is the commit of a load."""
    return all(summary.get(name) == value for name, value in load_properties(mark).items())


def is_ahead(summary: Mapping[str, str], mark: LoadMark) -> bool:
    """Return whether a snapshot is of another load of the same pipeline that cannot come before this one."""
    if summary.get(PIPELINE) != mark.pipeline_name or is_commit_of(summary, mark):
        return False
    sequence = summary.get(SEQUENCE, "")
    return sequence.isdecimal() and int(sequence) >= mark.sequence


def parse_commit(version: int, summary: Mapping[str, str]) -> TableCommit:
    """Parse the summary of a snapshot; one of another writer has no load."""
    if LOAD in summary and MANIFEST in summary:
        return TableCommit(
            version=version,
            load_id=summary[LOAD],
            pipeline_name=summary.get(PIPELINE),
            replaces=REPLACES in summary,
        )
    return TableCommit(version=version, undoes=summary.get(UNDONE))


def undo_properties(applied: AppliedJob, load_id: str) -> dict[str, str]:
    """Return the properties of the snapshot that undoes a job."""
    return {UNDONE: load_id, _UNDONE_VERSION: str(applied.version_after)}


def replace_properties(version: int | None) -> dict[str, str]:
    """Return the properties of a snapshot that recreates a table whose head was `version`."""
    return {} if version is None else {REPLACES: str(version)}


def row_count(operation: str, summary: Mapping[str, str]) -> int | None:
    """Return the rows that a load added; None if the summary counts copied rows with them."""
    merged = [summary.get(name) for name in _MERGE_COUNTS]
    if any(count is not None for count in merged):
        return sum(int(count) for count in merged if count is not None)
    is_counted = operation == "append" or summary.get("total-records") == summary.get("added-records", "0")
    return int(summary.get("added-records", 0)) if is_counted else None


def branch_name(mark: LoadMark) -> str:
    """Return the branch on which a load is staged.

    >>> from penstock.interfaces import LoadMark
    >>> branch_name(LoadMark(pipeline_name="shop", sequence=7, load_id="1", manifest_hash="a"))
    'penstock_8d9001d32c_7'
    """
    return f"{_branch_prefix(mark.pipeline_name)}_{mark.sequence}"


def branch_sequence(branch: str, pipeline_name: str) -> int | None:
    """Return the sequence of the load that a branch is for; None for branches of other pipelines.

    A load has several branches if an attempt finds the branch of another attempt.
    """
    match = re.fullmatch(rf"{_branch_prefix(pipeline_name)}_(\d+)(?:_[0-9a-f]+)?", branch)
    return int(match[1]) if match else None


def _branch_prefix(pipeline_name: str) -> str:
    return f"{BRANCH_PREFIX}{hashlib.sha256(pipeline_name.encode()).hexdigest()[:10]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergSnapshot:
    """One commit to a table, on any branch."""

    id: int
    parent: int | None
    operation: str
    summary: Mapping[str, str] = field(default_factory=dict)

    @property
    def previous_id(self) -> int | None:
        """The snapshot before it: its parent, or the head of the table that it replaced."""
        replaced = self.summary.get(REPLACES, "")
        return int(replaced) if replaced.isdecimal() else self.parent

    @property
    def is_table_creation(self) -> bool:
        """Whether it is the empty first snapshot of a branch of a new table, of no load."""
        is_empty = self.summary.get("total-records", "0") == "0"
        return self.previous_id is None and is_empty and parse_commit(self.id, self.summary).load_id is None


@dataclass(frozen=True, kw_only=True)
class SnapshotHistory:
    """The snapshots and refs of a table."""

    snapshots: Mapping[int, IcebergSnapshot]
    refs: Mapping[str, int]
    expiring_refs: frozenset[str] = frozenset()
    """Refs with a maximum age: the loads of such branches are complete."""

    @property
    def is_torn(self) -> bool:
        """Whether a commit was made between the reads of refs and of snapshots."""
        return any(head not in self.snapshots for head in self.refs.values())

    @cached_property
    def main_snapshots(self) -> tuple[IcebergSnapshot, ...]:
        """The snapshots of `main`, newest first, as far back as they are retained."""
        return self._ancestry(self.snapshots.get(self.refs.get(MAIN, 0)))

    @property
    def head(self) -> int | None:
        """The current version of `main`; None before the first commit."""
        return self.main_snapshots[0].id if self.main_snapshots else None

    @property
    def is_truncated(self) -> bool:
        """Whether ancestors of `main` have expired."""
        return bool(self.main_snapshots) and self.main_snapshots[-1].parent is not None

    @cached_property
    def in_doubt(self) -> tuple[IcebergSnapshot, ...]:
        """Commits of loads on branches that may or may not have been published.

        Ancestors of `main` have expired, and these branches begin below the oldest one that is retained.
        """
        if not self.is_truncated:
            return ()
        main_ids = {snapshot.id for snapshot in self.main_snapshots}
        heads = (self.snapshots[head] for name, head in self.refs.items() if name.startswith(BRANCH_PREFIX))
        return tuple(
            head
            for head in heads
            if not {head.id, head.parent} & main_ids
            and parse_commit(head.id, head.summary).load_id is not None
        )

    def commits(self) -> tuple[TableCommit, ...]:
        """Return the commits of `main`, newest first, with the loads that made them.

        Commits in doubt are listed below them: readers are held back to the version before an open load.
        """
        if not self.main_snapshots:
            return (_EMPTY_TABLE_COMMIT,)
        below = (snapshot for head in self.in_doubt for snapshot in self._ancestry(head))
        return tuple(
            parse_commit(snapshot.id, snapshot.summary)
            for snapshot in (*self.main_snapshots, *below)
            if not snapshot.is_table_creation
        )

    def find_commit(self, table: str, mark: LoadMark) -> IcebergSnapshot | None:
        """Return the commit of a load on `main`.

        Raise if the table is ahead of the load, or if its history does not show it.
        """
        commit = self.find_visible(table, mark)
        if commit is None:
            self.check_branches(table, mark)
        return commit

    def check_branches(self, table: str, mark: LoadMark) -> None:
        """Raise if a branch shows that a later load has begun, or if the commit of the load is in doubt."""
        sequences = (branch_sequence(name, mark.pipeline_name) for name in self.refs)
        if any(sequence is not None and sequence > mark.sequence for sequence in sequences):
            raise DestinationAhead(table=table, sequence=mark.sequence)
        if any(is_commit_of(snapshot.summary, mark) for snapshot in self.in_doubt):
            raise DestinationTerminalException(
                f"the history of {table} does not show whether it has load {mark.load_id}: "
                "snapshots were expired before the load was complete",
                hint=f"find rows of the load by their _dlt_load_id, delete them, "
                f"drop the branches of {table} that begin with {BRANCH_PREFIX}, and run again",
            )

    def find_visible(self, table: str, mark: LoadMark) -> IcebergSnapshot | None:
        """Return the commit of a load among the retained snapshots of `main`."""
        for snapshot in self.main_snapshots:
            if is_commit_of(snapshot.summary, mark):
                return snapshot
            if is_ahead(snapshot.summary, mark):
                raise DestinationAhead(table=table, sequence=mark.sequence)
            if snapshot.summary.get(UNDONE) == mark.load_id:
                raise DestinationTerminalException(
                    f"load {mark.load_id} was rolled back from {table}",
                    hint="its rows are not written again; run the pipeline to load new ones",
                )
        return None

    def load_commit(self, mark: LoadMark) -> IcebergSnapshot | None:
        """Return the commit of a load on `main`, undone or not."""
        return next((commit for commit in self.main_snapshots if is_commit_of(commit.summary, mark)), None)

    def has_commit(self, mark: LoadMark) -> bool:
        """Return whether `main` has the commit of a load, undone or not."""
        return self.load_commit(mark) is not None

    def is_published(self, applied: AppliedJob, load_id: str) -> bool:
        """Return whether `main` has the commit of a job of a load."""
        return any(
            snapshot.id == applied.version_after and snapshot.summary.get(LOAD) == load_id
            for snapshot in self.main_snapshots
        )

    def is_undone(self, load_id: str) -> bool:
        """Return whether a load was undone."""
        return any(snapshot.summary.get(UNDONE) == load_id for snapshot in self.main_snapshots)

    def check_undoable(self, applied: AppliedJob, load_id: str) -> None:
        """Raise unless the commit of a job is the newest one and the version before it is retained."""
        if self.head != applied.version_after:
            raise moved_on_error(applied, load_id)
        if applied.version_before is not None and applied.version_before not in self.snapshots:
            raise DestinationTerminalException(
                f"{applied.table} cannot be rolled back: snapshot {applied.version_before} was expired",
                hint=f"delete the rows of load {load_id} by their _dlt_load_id; replaced rows are lost",
            )

    def commits_since(self, version: int | None) -> tuple[IcebergSnapshot, ...] | None:
        """Return the snapshots of `main` after one, newest first; None if it is not retained."""
        if version is None:
            return None if self.is_truncated else self.main_snapshots
        ids = [snapshot.id for snapshot in self.main_snapshots]
        return self.main_snapshots[: ids.index(version)] if version in ids else None

    def branch_head(self, mark: LoadMark) -> int | None:
        """Return the head of a branch of a load, whether or not it has the commit."""
        heads = (
            head
            for name, head in self.refs.items()
            if branch_sequence(name, mark.pipeline_name) == mark.sequence
        )
        return next(heads, None)

    def open_branches_of_others(self, pipeline_name: str) -> tuple[str, ...]:
        """Return the branches of open loads of other pipelines."""
        return tuple(
            name
            for name in self.refs
            if name.startswith(BRANCH_PREFIX)
            and name not in self.expiring_refs
            and branch_sequence(name, pipeline_name) is None
        )

    def staged_branch(self, mark: LoadMark) -> str | None:
        """Return a branch with a publishable commit of a load."""
        for name, head in self.refs.items():
            if branch_sequence(name, mark.pipeline_name) == mark.sequence and self.is_publishable(head, mark):
                return name
        return None

    def is_publishable(self, version: int, mark: LoadMark) -> bool:
        """Return whether a snapshot is the commit of a load, made on top of the head of `main`."""
        snapshot = self.snapshots.get(version)
        if snapshot is None or not is_commit_of(snapshot.summary, mark):
            return False
        return snapshot.parent == self.head if self.main_snapshots else self._base_version(snapshot) is None

    def leftover_branches(self, mark: LoadMark) -> tuple[str, ...]:
        """Return the branches of earlier loads of a pipeline; these are committed or aborted."""
        sequences = {name: branch_sequence(name, mark.pipeline_name) for name in self.refs}
        return tuple(
            name for name, sequence in sequences.items() if sequence is not None and sequence < mark.sequence
        )

    def is_table_replacement(self, version: int | None) -> bool:
        """Return whether a snapshot recreated the table: the snapshot before is not its parent."""
        snapshot = self.snapshots.get(version or 0)
        return snapshot is not None and snapshot.previous_id != snapshot.parent

    def applied_job(self, table: str, snapshot: IcebergSnapshot, *, skipped: bool = False) -> AppliedJob:
        """Return the result of the job that made a snapshot."""
        return AppliedJob(
            table=table,
            rows=row_count(snapshot.operation, snapshot.summary),
            version_before=self._base_version(snapshot),
            version_after=snapshot.id,
            skipped=skipped,
        )

    def _ancestry(self, newest: IcebergSnapshot | None) -> tuple[IcebergSnapshot, ...]:
        snapshots: list[IcebergSnapshot] = []
        while newest is not None:
            snapshots.append(newest)
            newest = self.snapshots.get(newest.previous_id or 0)
        return tuple(snapshots)

    def _base_version(self, snapshot: IcebergSnapshot) -> int | None:
        """Return the version that a snapshot was made on; None if the table was new."""
        parent = self.snapshots.get(snapshot.previous_id or 0)
        return None if parent is not None and parent.is_table_creation else snapshot.previous_id


def parse_metadata(metadata: Mapping[str, Any]) -> SnapshotHistory:
    """Return the history in the metadata of a table, as the specification of Iceberg writes it in JSON."""
    snapshots = (parse_snapshot(document) for document in metadata.get("snapshots", ()))
    refs: Mapping[str, Mapping[str, Any]] = metadata.get("refs", {})
    return SnapshotHistory(
        snapshots={snapshot.id: snapshot for snapshot in snapshots},
        refs={name: ref["snapshot-id"] for name, ref in refs.items()},
        expiring_refs=frozenset(name for name, ref in refs.items() if "max-ref-age-ms" in ref),
    )


def parse_snapshot(document: Mapping[str, Any]) -> IcebergSnapshot:
    """Return a snapshot from the metadata of a table.

    >>> parse_snapshot({"snapshot-id": 7, "summary": {"operation": "append", "added-records": "2"}})
    IcebergSnapshot(id=7, parent=None, operation='append', summary={'added-records': '2'})
    """
    summary = dict(document.get("summary", {}))
    operation = summary.pop("operation", "")
    parent = document.get("parent-snapshot-id")
    return IcebergSnapshot(id=document["snapshot-id"], parent=parent, operation=operation, summary=summary)


def other_changes(snapshots: Sequence[IcebergSnapshot], own_loads: Container[str]) -> tuple[str, ...]:
    """Describe those of the snapshots, newest first, that change rows and are not of own loads; oldest first.

    Loads that were rolled back, with the snapshots that did it, change nothing.
    """
    commits = {snapshot.id: parse_commit(snapshot.id, snapshot.summary) for snapshot in snapshots}
    undone = {commit.undoes for commit in commits.values() if commit.undoes is not None}
    return tuple(
        f"snapshot {snapshot.id} ({snapshot.operation}) by {_writer_of(commits[snapshot.id])}"
        for snapshot in reversed(snapshots)
        if not (
            snapshot.is_table_creation
            or snapshot.operation == _REWRITE
            or commits[snapshot.id].undoes is not None
            or commits[snapshot.id].load_id in undone
            or commits[snapshot.id].load_id in own_loads
        )
    )


def _writer_of(commit: TableCommit) -> str:
    return f"load {commit.load_id} of {commit.pipeline_name}" if commit.load_id else "another writer"


def moved_on_error(applied: AppliedJob, load_id: str) -> DestinationTerminalException:
    """Return the error of a table with commits after that of a job."""
    return DestinationTerminalException(
        f"{applied.table} was changed after snapshot {applied.version_after} and cannot be rolled back",
        hint=f"restore the version before load {load_id} by hand, with rollback_to_snapshot",
    )
