"""The merge sets of a chain: what its tables must agree on, written into the package before the first commit.

The root rows that are replaced can only be found while they exist, and the children change first. So the sets
are computed once; a process that resumes after a crash, or that loads another table of the chain, reads them.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol
from weakref import WeakValueDictionary

from pyspark.sql import functions as F

from penstock.destinations.lake import rows as shape
from penstock.destinations.lake.key_ranges import KeyRange, pruning_condition
from penstock.errors import InternalError, PackageDamaged
from penstock.package.control_file import encode_control, read_control
from penstock.schema.defaults import ID_COLUMN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from penstock.destinations.lake.hints import MergeHints
    from penstock.destinations.lake.job import StagedTables
    from penstock.destinations.lake.plan import ChainPlan
    from penstock.package.storage import FileStorage
    from penstock.schema import Table

SetName = Literal["left_out", "gone", "unnamed", "retired", "begun"]
"""The sets, by the names that they have in a package.

`left_out`: positions of skipped root rows; `gone`: ids of superseded root rows; `unnamed`: ids of nested rows
without a root key below them; `retired`: versions that end; `begun`: positions of versions that begin.
"""
_FOLDER: Final = "merge"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSet:
    """A set in the package."""

    path: str
    """Relative to the package; it names the attempt that wrote it."""
    columns: str
    """The columns as Spark SQL DDL."""
    rows: int | None
    """None if they were not counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeSets:
    """The sets and key ranges of one chain."""

    sets: Mapping[SetName, StoredSet]
    ranges: tuple[KeyRange, ...] = ()

    def find(self, name: SetName) -> StoredSet | None:
        """Return a set that is not empty."""
        stored = self.sets.get(name)
        return None if stored is None or stored.rows == 0 else stored

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for the control file."""
        return {
            "sets": {name: asdict(stored) for name, stored in self.sets.items()},
            "ranges": [key_range.to_dict() for key_range in self.ranges],
        }

    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> MergeSets:
        """Read the output of `to_dict`."""
        return MergeSets(
            sets={name: StoredSet(**stored) for name, stored in document["sets"].items()},
            ranges=tuple(KeyRange.from_dict(key_range) for key_range in document["ranges"]),
        )


def read_sets(store: FileStorage, root: str) -> MergeSets | None:
    """Return the published sets of a chain; None before they are published."""
    document = read_control(store, _control_file(root))
    if document is None:
        return None
    try:
        return MergeSets.from_dict(document)
    except (KeyError, TypeError, ValueError) as error:
        path = store.path(_control_file(root))
        raise PackageDamaged(path=path, reason=f"{error} is missing or wrong in it") from error


def publish_sets(store: FileStorage, root: str, merge_sets: MergeSets) -> MergeSets:
    """Publish the sets unless another process has, and return those that were published first."""
    store.put_if_absent(_control_file(root), encode_control(merge_sets.to_dict()))
    return read_sets(store, root) or merge_sets


def set_data_path(root: str, attempt: str, name: SetName) -> str:
    """Return the folder of the package to which an attempt writes a set."""
    return f"data/{_FOLDER}/{root}/{attempt}/{name}"


def _control_file(root: str) -> str:
    return f"{_FOLDER}/{root}.json"


class ReadableTables(Protocol):
    """Tables that can be read."""

    def exists(self, table: str, *, spark: SparkSession) -> bool:
        """Return whether a table exists."""

    def read(self, table: str, version: int | None = None, *, spark: SparkSession) -> DataFrame:
        """Return a frame over a table."""


@dataclass(frozen=True, kw_only=True)
class MergeSetFinder:
    """The frames of the sets of one chain. Nothing here runs a job."""

    plan: ChainPlan
    schema: Mapping[str, Table]
    staged: StagedTables
    target: ReadableTables
    spark: SparkSession

    @property
    def hints(self) -> MergeHints:
        """The merge hints of the chain."""
        if self.plan.hints is None:
            raise InternalError(f"{self.plan.root} is not merged", hint="report this")
        return self.plan.hints

    @cached_property
    def root_rows(self) -> DataFrame:
        """The staged rows of the root."""
        return self.staged_rows(self.plan.root)

    def staged_rows(self, table: str) -> DataFrame:
        """Return the staged rows of a table, with all of its columns."""
        return shape.with_missing_columns(self.staged.frame(table, self.spark), self.schema[table])

    def set_names(self) -> list[SetName]:
        """Return the sets to compute, each after those that it depends on."""
        sets = self.plan.sets
        names: list[SetName] = ["left_out"] if sets.skipped_rows else []
        if not self.target.exists(self.plan.root, spark=self.spark):
            return names
        names += ["gone"] if sets.superseding_keys else []
        names += ["unnamed"] if sets.superseding_keys and sets.intermediate_tables else []
        names += ["retired", "begun"] if sets.versions else []
        return names

    def find(self, name: SetName, ranges: Iterable[KeyRange]) -> DataFrame | None:
        """Return a set as a frame; None if the table that it is read from does not exist."""
        if name == "left_out":
            return shape.skipped_positions(self.root_rows, self.hints)
        if not self.target.exists(self.plan.root, spark=self.spark):
            return None
        target = self.target.read(self.plan.root, spark=self.spark)
        history = self.hints.scd2
        if name == "gone":
            condition = pruning_condition(ranges, self.hints.key_sets, "t")
            candidates = target.alias("t").where(condition) if condition else target
            return shape.superseded_root_ids(
                candidates, self.root_rows, self.hints, self.plan.sets.superseding_keys
            )
        if name == "begun" and history:
            return shape.new_versions(target, self.root_rows, history)
        return shape.ended_versions(target, self.root_rows, self.hints, history) if history else None

    def rows_without_root_key(self, superseded_ids: DataFrame) -> DataFrame | None:
        """Return the superseded rows of intermediate tables that have no root key, parents first."""
        superseded = {self.plan.root: superseded_ids}
        frames: list[DataFrame] = []
        for name in self.plan.sets.intermediate_tables:
            table, parent_ids = self.schema[name], superseded.get(self.schema[name].parent or "")
            if parent_ids is None or not self.target.exists(name, spark=self.spark):
                continue
            (link,), parent_key = self.plan.step(name).match, self.plan.step(name).parent_key
            superseded[name] = shape.rows_without_root_key(
                self.target.read(name, spark=self.spark),
                parent_ids,
                row_key=next(iter(table.columns_with("row_key")), ID_COLUMN),
                parent_key=parent_key or link,
                root_key=None if link == parent_key else link,
            )
            frames.append(superseded[name].withColumn(shape.TABLE_NAME, F.lit(name)))
        return reduce(lambda merged, frame: merged.unionByName(frame), frames) if frames else None


@dataclass(eq=False)
class _ChainLock:
    lock: threading.Lock


class ChainLocks:
    """One lock for each chain.

    The tables of a chain are loaded in parallel, and one of them is enough to compute the sets. The locks
    only save work: the sets that are published first win.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._chain_locks: WeakValueDictionary[str, _ChainLock] = WeakValueDictionary()

    @contextmanager
    def hold(self, chain: str) -> Iterator[None]:
        """Hold the lock of a chain for the length of the block."""
        with self._lock:
            chain_lock = self._chain_locks.setdefault(chain, _ChainLock(threading.Lock()))
        with chain_lock.lock:
            yield
