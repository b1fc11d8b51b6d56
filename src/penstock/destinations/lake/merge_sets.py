"""What the tables of a chain agree on, written into the package before the first of them changes.

The rows of the root that give way can only be found while they are there, and its children go first. So they
are looked up once; whoever goes on after a crash, or works on another table of the chain, reads them.
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
_FOLDER: Final = "merge"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSet:
    """A set as it stands in the package."""

    path: str
    """Relative to the package; it names the attempt that wrote it."""
    columns: str
    """Its columns as Spark SQL writes them."""
    rows: int | None
    """None when nobody counted them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeSets:
    """Everything that the tables of one chain agree on."""

    sets: Mapping[SetName, StoredSet]
    ranges: tuple[KeyRange, ...] = ()

    def find(self, name: SetName) -> StoredSet | None:
        """A set that has something in it."""
        found = self.sets.get(name)
        return None if found is None or found.rows == 0 else found

    def to_dict(self) -> dict[str, Any]:
        """Plain data for the control file."""
        return {
            "sets": {name: asdict(one) for name, one in self.sets.items()},
            "ranges": [one.to_dict() for one in self.ranges],
        }

    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> MergeSets:
        """Read what `to_dict` gave."""
        return MergeSets(
            sets={name: StoredSet(**one) for name, one in document["sets"].items()},
            ranges=tuple(KeyRange.from_dict(one) for one in document["ranges"]),
        )


def read_sets(store: FileStorage, root: str) -> MergeSets | None:
    """What the tables of a chain agree on, or None while nobody has written it down."""
    document = read_control(store, _control_file(root))
    if document is None:
        return None
    try:
        return MergeSets.from_dict(document)
    except (KeyError, TypeError, ValueError) as error:
        path = store.path(_control_file(root))
        raise PackageDamaged(path=path, reason=f"{error} is missing or wrong in it") from error


def publish_sets(store: FileStorage, root: str, merge_sets: MergeSets) -> MergeSets:
    """Write it down, unless somebody has; gives what counts."""
    store.put_if_absent(_control_file(root), encode_control(merge_sets.to_dict()))
    return read_sets(store, root) or merge_sets


def set_data_path(root: str, attempt: str, name: SetName) -> str:
    """Where an attempt writes a set; it goes with the data of the package."""
    return f"data/{_FOLDER}/{root}/{attempt}/{name}"


def _control_file(root: str) -> str:
    return f"{_FOLDER}/{root}.json"


@dataclass(eq=False)
class _ChainLock:
    lock: threading.Lock


class ChainLocks:
    """One at a time for each chain.

    The tables of a chain are written side by side, and one of them is enough to find out what they agree on.
    This saves work only: what counts is decided by who writes it down first.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._chain_locks: WeakValueDictionary[str, _ChainLock] = WeakValueDictionary()

    @contextmanager
    def hold(self, chain: str) -> Iterator[None]:
        """Wait for the turn, and have it for the length of the block."""
        with self._lock:
            turn = self._chain_locks.setdefault(chain, _ChainLock(threading.Lock()))
        with turn.lock:
            yield


class ReadableTables(Protocol):
    """Tables that can be looked at."""

    def exists(self, table: str, *, spark: SparkSession) -> bool:
        """Whether there is such a table."""

    def read(self, table: str, version: int | None = None, *, spark: SparkSession) -> DataFrame:
        """The table as it is."""


@dataclass(frozen=True, kw_only=True)
class MergeSetFinder:
    """One chain of a load. Nothing here runs a job: what is found is a frame."""

    plan: ChainPlan
    schema: Mapping[str, Table]
    staged: StagedTables
    target: ReadableTables
    spark: SparkSession

    @property
    def hints(self) -> MergeHints:
        """How the chain is merged."""
        if self.plan.hints is None:
            raise InternalError(f"{self.plan.root} is not merged", hint="report this")
        return self.plan.hints

    @cached_property
    def root_rows(self) -> DataFrame:
        """The staged rows of the root."""
        return self.staged_rows(self.plan.root)

    def staged_rows(self, table: str) -> DataFrame:
        """The staged rows of a table, with all of its columns."""
        return shape.with_missing_columns(self.staged.frame(table, self.spark), self.schema[table])

    def set_names(self) -> list[SetName]:
        """What there is to find; a set comes after those that it is found by."""
        sets = self.plan.sets
        names: list[SetName] = ["left_out"] if sets.skipped_rows else []
        if not self.target.exists(self.plan.root, spark=self.spark):
            return names
        names += ["gone"] if sets.superseding_keys else []
        names += ["unnamed"] if sets.superseding_keys and sets.intermediate_tables else []
        names += ["retired", "begun"] if sets.versions else []
        return names

    def find(self, name: SetName, ranges: Iterable[KeyRange]) -> DataFrame | None:
        """A set as a frame; None where there is no table to look at."""
        if name == "left_out":
            return shape.skipped_positions(self.root_rows, self.hints)
        if not self.target.exists(self.plan.root, spark=self.spark):
            return None
        target = self.target.read(self.plan.root, spark=self.spark)
        history = self.hints.scd2
        if name == "gone":
            prune = pruning_condition(ranges, self.hints.key_sets, "t")
            seen = target.alias("t").where(prune) if prune else target
            return shape.superseded_root_ids(
                seen, self.root_rows, self.hints, self.plan.sets.superseding_keys
            )
        if name == "begun" and history:
            return shape.new_versions(target, self.root_rows, history)
        return shape.ended_versions(target, self.root_rows, self.hints, history) if history else None

    def rows_without_root_key(self, superseded_ids: DataFrame) -> DataFrame | None:
        """Rows between that do not name their root, from the root downwards."""
        marks = {self.plan.root: superseded_ids}
        found: list[DataFrame] = []
        for name in self.plan.sets.intermediate_tables:
            table, above = self.schema[name], marks.get(self.schema[name].parent or "")
            if above is None or not self.target.exists(name, spark=self.spark):
                continue
            (link,), parent_key = self.plan.step(name).match, self.plan.step(name).parent_key
            marks[name] = shape.rows_without_root_key(
                self.target.read(name, spark=self.spark),
                above,
                row_key=next(iter(table.columns_with("row_key")), ID_COLUMN),
                parent_key=parent_key or link,
                root_key=None if link == parent_key else link,
            )
            found.append(marks[name].withColumn(shape.TABLE_NAME, F.lit(name)))
        return reduce(lambda one, other: one.unionByName(other), found) if found else None
