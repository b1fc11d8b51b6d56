"""Looks up what the tables of a chain agree on, in the load and in the tables as they are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Protocol

from pyspark.sql import functions as F

from penstock.destinations.lake import rows as shape
from penstock.destinations.lake.prune import pruning
from penstock.errors import InternalError
from penstock.schema.defaults import ID_COLUMN

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from penstock.destinations.lake.hints import MergeHints
    from penstock.destinations.lake.plan import ChainPlan
    from penstock.destinations.lake.prune import Range
    from penstock.destinations.lake.sets import SetName
    from penstock.destinations.lake.staged import Staged
    from penstock.schema import Table


class Readable(Protocol):
    """Tables that can be looked at."""

    def exists(self, table: str, *, spark: SparkSession) -> bool:
        """Whether there is such a table."""

    def read(self, table: str, version: int | None = None, *, spark: SparkSession) -> DataFrame:
        """The table as it is."""


@dataclass(frozen=True, kw_only=True)
class Finder:
    """One chain of a load. Nothing here runs a job: what is found is a frame."""

    plan: ChainPlan
    schema: Mapping[str, Table]
    staged: Staged
    into: Readable
    spark: SparkSession

    @property
    def hints(self) -> MergeHints:
        """How the chain is merged."""
        if self.plan.hints is None:
            raise InternalError(f"{self.plan.root} is not merged", hint="report this")
        return self.plan.hints

    @cached_property
    def root(self) -> DataFrame:
        """The staged rows of the root."""
        return self.rows(self.plan.root)

    def rows(self, table: str) -> DataFrame:
        """The staged rows of a table, with all of its columns."""
        return shape.completed(self.staged.frame(table, self.spark), self.schema[table])

    def names(self) -> list[SetName]:
        """What there is to find; a set comes after those that it is found by."""
        sets = self.plan.sets
        names: list[SetName] = ["left_out"] if sets.left_out else []
        if not self.into.exists(self.plan.root, spark=self.spark):
            return names
        names += ["gone"] if sets.gone else []
        names += ["unnamed"] if sets.gone and sets.between else []
        names += ["retired", "begun"] if sets.versions else []
        return names

    def find(self, name: SetName, ranges: Iterable[Range]) -> DataFrame | None:
        """A set as a frame; None where there is no table to look at."""
        if name == "left_out":
            return shape.left_out(self.root, self.hints)
        if not self.into.exists(self.plan.root, spark=self.spark):
            return None
        target = self.into.read(self.plan.root, spark=self.spark)
        history = self.hints.history
        if name == "gone":
            prune = pruning(ranges, self.hints.key_sets, "t")
            seen = target.alias("t").where(prune) if prune else target
            return shape.gone(seen, self.root, self.hints, self.plan.sets.gone)
        if name == "begun" and history:
            return shape.begun(target, self.root, history)
        return shape.retired(target, self.root, self.hints, history) if history else None

    def unnamed(self, gone: DataFrame) -> DataFrame | None:
        """Rows between that do not name their root, from the root downwards."""
        marks = {self.plan.root: gone}
        found: list[DataFrame] = []
        for name in self.plan.sets.between:
            table, above = self.schema[name], marks.get(self.schema[name].parent or "")
            if above is None or not self.into.exists(name, spark=self.spark):
                continue
            (link,), parent_key = self.plan.step(name).match, self.plan.step(name).parent_key
            marks[name] = shape.unnamed(
                self.into.read(name, spark=self.spark),
                above,
                row_key=next(iter(table.columns_with("row_key")), ID_COLUMN),
                parent_key=parent_key or link,
                root_key=None if link == parent_key else link,
            )
            found.append(marks[name].withColumn(shape.TABLE, F.lit(name)))
        return reduce(lambda one, other: one.unionByName(other), found) if found else None
