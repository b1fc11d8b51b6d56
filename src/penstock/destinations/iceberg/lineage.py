"""What a table has gone through: its snapshots, and which of them readers see. No Spark here.

Snapshot ids are random: which of two came first is told by the parents alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

from penstock.destinations.iceberg.commit_metadata import (
    BRANCH_PREFIX,
    REPLACES,
    UNDONE,
    branch_sequence,
    is_ahead,
    is_commit_of,
    parse_commit,
    row_count,
)
from penstock.errors import DestinationAhead, DestinationTerminalException
from penstock.interfaces import AppliedJob, TableCommit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.interfaces import LoadMark

MAIN: Final = "main"
_EMPTY_TABLE_COMMIT: Final = TableCommit(version=0, load_id="")
"""A table that was made and never written to is part of a load that is not complete."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergSnapshot:
    """One commit to a table, on whatever branch."""

    id: int
    parent: int | None
    operation: str
    summary: Mapping[str, str] = field(default_factory=dict)

    @property
    def previous_id(self) -> int | None:
        """What readers saw before it: its parent, or the head of the table in whose place it stands."""
        said = self.summary.get(REPLACES, "")
        return int(said) if self.parent is None and said.isdecimal() else self.parent

    @property
    def is_table_creation(self) -> bool:
        """Whether it is what a branch of a new table begins with: nothing, and of no load."""
        is_empty = self.summary.get("total-records", "0") == "0"
        return self.previous_id is None and is_empty and parse_commit(self.id, self.summary).load_id is None


@dataclass(frozen=True, kw_only=True)
class Lineage:
    """The snapshots of a table, and the names that some of them have."""

    snapshots: Mapping[int, IcebergSnapshot]
    refs: Mapping[str, int]
    expiring_refs: frozenset[str] = frozenset()
    """Names that go by themselves after a while: the loads of such branches are complete."""

    @property
    def is_torn(self) -> bool:
        """Whether a commit came between the looks at names and at snapshots."""
        return any(one not in self.snapshots for one in self.refs.values())

    @cached_property
    def main_snapshots(self) -> tuple[IcebergSnapshot, ...]:
        """What readers see, newest first, as far back as it was kept."""
        return self._ancestry(self.snapshots.get(self.refs.get(MAIN, 0)))

    @property
    def head(self) -> int | None:
        """The version that readers see; None before the first."""
        return self.main_snapshots[0].id if self.main_snapshots else None

    @property
    def is_truncated(self) -> bool:
        """Whether snapshots were expired in the middle of what readers see."""
        return bool(self.main_snapshots) and self.main_snapshots[-1].parent is not None

    @cached_property
    def in_doubt(self) -> tuple[IcebergSnapshot, ...]:
        """Commits of loads on branches of which nobody can tell whether readers see them.

        Somebody expired snapshots in the middle of what readers see, and these begin further down.
        """
        if not self.is_truncated:
            return ()
        seen = {one.id for one in self.main_snapshots}
        heads = (self.snapshots[head] for name, head in self.refs.items() if name.startswith(BRANCH_PREFIX))
        return tuple(
            one
            for one in heads
            if not {one.id, one.parent} & seen and parse_commit(one.id, one.summary).load_id is not None
        )

    def commits(self) -> tuple[TableCommit, ...]:
        """The commits that readers see, newest first, and the loads that made them.

        Below them come those that may be among them: readers are held at what was before an open load.
        """
        if not self.main_snapshots:
            return (_EMPTY_TABLE_COMMIT,)
        below = (each for one in self.in_doubt for each in self._ancestry(one))
        return tuple(
            parse_commit(one.id, one.summary)
            for one in (*self.main_snapshots, *below)
            if not one.is_table_creation
        )

    def find_commit(self, table: str, mark: LoadMark) -> IcebergSnapshot | None:
        """The commit of a load that readers see.

        A table that is ahead of the load is an error, and so is one that cannot tell.
        """
        found = self.find_visible(table, mark)
        if found is None:
            self.check_branches(table, mark)
        return found

    def check_branches(self, table: str, mark: LoadMark) -> None:
        """Refuse to go on where branches say that a later load has begun, or leave a doubt."""
        sequences = (branch_sequence(name, mark.pipeline_name) for name in self.refs)
        if any(sequence is not None and sequence > mark.sequence for sequence in sequences):
            raise DestinationAhead(table=table, sequence=mark.sequence)
        if any(is_commit_of(one.summary, mark) for one in self.in_doubt):
            raise DestinationTerminalException(
                f"{table} cannot tell whether it has load {mark.load_id}: "
                "snapshots were expired before the load was complete",
                hint=f"look for rows of the load by their _dlt_load_id, delete those that are there, "
                f"drop the branches of {table} that begin with {BRANCH_PREFIX}, and run again",
            )

    def find_visible(self, table: str, mark: LoadMark) -> IcebergSnapshot | None:
        """The commit of a load among those that are known to be seen."""
        for one in self.main_snapshots:
            if is_commit_of(one.summary, mark):
                return one
            if is_ahead(one.summary, mark):
                raise DestinationAhead(table=table, sequence=mark.sequence)
            if one.summary.get(UNDONE) == mark.load_id:
                raise DestinationTerminalException(
                    f"load {mark.load_id} was taken back from {table}",
                    hint="its rows are not brought again; run the pipeline to load new ones",
                )
        return None

    def has_commit(self, mark: LoadMark) -> bool:
        """Whether the commit of a load is among those that readers see, taken back or not."""
        return any(is_commit_of(one.summary, mark) for one in self.main_snapshots)

    def is_undone(self, load_id: str) -> bool:
        """Whether a load was taken back."""
        return any(one.summary.get(UNDONE) == load_id for one in self.main_snapshots)

    def branch_head(self, mark: LoadMark) -> int | None:
        """Where a branch of a load stands, whether or not its commit is there."""
        heads = (
            head
            for name, head in self.refs.items()
            if branch_sequence(name, mark.pipeline_name) == mark.sequence
        )
        return next(heads, None)

    def open_branches_of_others(self, pipeline_name: str) -> tuple[str, ...]:
        """Branches of open loads of other pipelines."""
        return tuple(
            name
            for name in self.refs
            if name.startswith(BRANCH_PREFIX)
            and name not in self.expiring_refs
            and branch_sequence(name, pipeline_name) is None
        )

    def staged_branch(self, mark: LoadMark) -> str | None:
        """A branch with the commit of a load that can be published as it is."""
        for name, head in self.refs.items():
            if branch_sequence(name, mark.pipeline_name) == mark.sequence and self.is_publishable(head, mark):
                return name
        return None

    def is_publishable(self, version: int, mark: LoadMark) -> bool:
        """Whether a snapshot is the commit of a load, made right on top of what readers see."""
        found = self.snapshots.get(version)
        if found is None or not is_commit_of(found.summary, mark):
            return False
        return found.parent == self.head if self.main_snapshots else self._base_version(found) is None

    def leftover_branches(self, mark: LoadMark) -> tuple[str, ...]:
        """Branches of earlier loads of a pipeline; those are decided, one way or the other."""
        found = {name: branch_sequence(name, mark.pipeline_name) for name in self.refs}
        return tuple(
            name for name, sequence in found.items() if sequence is not None and sequence < mark.sequence
        )

    def is_table_replacement(self, version: int | None) -> bool:
        """Whether a snapshot stands in the place of a table: what was before is no parent of it."""
        found = self.snapshots.get(version or 0)
        return found is not None and found.previous_id != found.parent

    def since(self, version: int) -> tuple[IcebergSnapshot, ...] | None:
        """What readers see that came after a version; None where that is not part of it."""
        ids = [one.id for one in self.main_snapshots]
        return self.main_snapshots[: ids.index(version)] if version in ids else None

    def applied_job(self, table: str, snapshot: IcebergSnapshot, *, skipped: bool = False) -> AppliedJob:
        """What a snapshot came to."""
        return AppliedJob(
            table=table,
            rows=row_count(snapshot.operation, snapshot.summary),
            version_before=self._base_version(snapshot),
            version_after=snapshot.id,
            skipped=skipped,
        )

    def _ancestry(self, newest: IcebergSnapshot | None) -> tuple[IcebergSnapshot, ...]:
        found: list[IcebergSnapshot] = []
        while newest is not None:
            found.append(newest)
            newest = self.snapshots.get(newest.previous_id or 0)
        return tuple(found)

    def _base_version(self, snapshot: IcebergSnapshot) -> int | None:
        """The version that a snapshot was made on; None where the table was new."""
        parent = self.snapshots.get(snapshot.previous_id or 0)
        return None if parent is not None and parent.is_table_creation else snapshot.previous_id
