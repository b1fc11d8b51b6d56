"""Looks up what the tables of a chain agree on, in the load and in the tables as they are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Protocol

from pyspark.sql import functions as F

from penstock.destinations.lake import rows as shape
from penstock.destinations.lake.key_ranges import pruning_condition
from penstock.errors import InternalError
from penstock.schema.defaults import ID_COLUMN

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from penstock.destinations.lake.hints import MergeHints
    from penstock.destinations.lake.key_ranges import KeyRange
    from penstock.destinations.lake.merge_sets import SetName
    from penstock.destinations.lake.plan import ChainPlan
    from penstock.destinations.lake.staged_package import StagedTables
    from penstock.schema import Table


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
