"""Loads the tables of a chain: finds out what they agree on, then makes one commit for each."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final, Protocol

from pyspark.sql import functions as F

from penstock.destinations.lake import rows as shape
from penstock.destinations.lake.finder import Finder, Readable
from penstock.destinations.lake.hints import STRATEGIES, MergeStrategy
from penstock.destinations.lake.plan import ChainPlan, Step, at_first, plan_chain, without_marks
from penstock.destinations.lake.prune import pruning, wanted
from penstock.destinations.lake.sets import Agreed, SetName, Turns, Written, agree, data_path, read_agreed
from penstock.destinations.lake.statement import Merge, moment
from penstock.spark.observe import observed
from penstock.spark.paths import spark_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from penstock.destinations.lake.hints import MergeHints
    from penstock.destinations.lake.prune import Range
    from penstock.destinations.lake.staged import Staged
    from penstock.interfaces import AppliedJob, LoadMark
    from penstock.schema import Table

_PATIENCE: Final = 0.5


class LakeTables(Readable, Protocol):
    """What a chain needs of a table format: each writing method makes one commit with a mark, once."""

    @property
    def merges_from_itself(self) -> bool:
        """Whether what is merged into a table may be read from it in the same statement."""

    def append(self, table: Table, rows: DataFrame, mark: LoadMark, *, spark: SparkSession) -> AppliedJob:
        """Add rows; a table that is not there is made."""

    def overwrite(self, table: Table, rows: DataFrame, mark: LoadMark, *, spark: SparkSession) -> AppliedJob:
        """Put rows in the place of all that are there."""

    def renew(self, table: Table, rows: DataFrame, mark: LoadMark, *, spark: SparkSession) -> AppliedJob:
        """Put a table with these rows and columns in the place of the one that is there."""

    def merge(
        self, table: Table, source: DataFrame, merge: Merge, mark: LoadMark, *, spark: SparkSession
    ) -> AppliedJob:
        """Merge a source into a table that is there."""


@dataclass(frozen=True, kw_only=True)
class ChainLoad:
    """One chain of a sealed load and the tables that it goes into."""

    root: str
    schema: Mapping[str, Table]
    staged: Staged
    into: LakeTables
    turns: Turns
    spark: SparkSession
    default_strategy: MergeStrategy = STRATEGIES[0]
    _agreement: list[Agreed] = field(default_factory=list, init=False, repr=False, compare=False)

    @cached_property
    def plan(self) -> ChainPlan:
        """What each table gets."""
        return plan_chain(
            self.root,
            self.schema,
            with_rows=self.staged.tables,
            default_strategy=self.default_strategy,
        )

    def apply(self, table: str) -> Iterator[AppliedJob]:
        """Commit one table. With the root come those nested in it that get no rows, before it."""
        for step in self.plan.steps:
            if step.table == table or (table == self.root and step.table not in self.staged.tables):
                yield from self._commit(step)

    def _commit(self, step: Step) -> Iterator[AppliedJob]:
        exists = self.into.exists(step.table, spark=self.spark)
        found = step if exists else at_first(step)
        if found.kind is not None and found.marks == "gone" and self._marks(found) is None:
            found = without_marks(found)
        table, mark, spark = self.schema[step.table], self.staged.mark, self.spark
        match found.how:
            case "nothing":
                return
            case "append":
                yield self.into.append(table, self._rows(found), mark, spark=spark)
            case "overwrite":
                rows = self._rows(found) if found.rows else self._no_rows(step.table)
                yield self.into.overwrite(table, rows, mark, spark=spark)
            case "renew":
                yield self.into.renew(table, self._rows(found), mark, spark=spark)
            case "merge":
                yield self._merged(found, table)

    def _merged(self, step: Step, table: Table) -> AppliedJob:
        hints = self._hints
        rows = self._rows(step) if step.rows else None
        ends = (
            {hints.history.valid_to: moment(self._boundary)}
            if step.kind == "history" and hints.history
            else {}
        )
        merge = Merge(
            step=step,
            hints=hints,
            columns=rows.columns if rows is not None else (),
            target_columns=frozenset(self.into.read(step.table, spark=self.spark).columns),
            prune=self._prune(step),
        )
        source = shape.source(rows, self._marks(step), ends)
        return self.into.merge(table, source, merge, self.staged.mark, spark=self.spark)

    @cached_property
    def _finder(self) -> Finder:
        return Finder(
            plan=self.plan, schema=self.schema, staged=self.staged, into=self.into, spark=self.spark
        )

    @property
    def _hints(self) -> MergeHints:
        return self._finder.hints

    @property
    def _is_alone(self) -> bool:
        """Whether sets need not be written down: one table finds out what it needs as it is merged."""
        can_look = self.into.merges_from_itself or not self.plan.sets.come_from_the_table
        return self.plan.is_flat and can_look

    @property
    def _boundary(self) -> str:
        history = self._hints.history
        return (history.boundary if history else None) or self.staged.created_at

    def _no_rows(self, table: str) -> DataFrame:
        return self.spark.createDataFrame([], self.into.read(table, spark=self.spark).schema)

    def _rows(self, step: Step) -> DataFrame:
        """The rows that go into a table, with all of its columns."""
        staged = self._finder.rows(step.table)
        is_root = step.table == self.root
        values: dict[str, str] = {}
        if self.plan.hints is not None:
            staged = self._chosen(staged, step)
            values = shape.history_values(self.plan.hints.history, self._boundary) if is_root else {}
        return shape.table_rows(staged, self.schema[step.table], values)

    def _chosen(self, staged: DataFrame, step: Step) -> DataFrame:
        match step.rows:
            case "kept" | "winners" if self._is_alone:
                return shape.chosen_here(staged, self._hints, step.rows)
            case "kept" | "winners":
                places = self._set("left_out")
                return staged if places is None else shape.without(staged, places, step.rows)
            case "new":
                places = self._begun()
                return staged if places is None else shape.only(staged, places)
            case _:
                return staged

    def _begun(self) -> DataFrame | None:
        """Places of versions that begin; None means all."""
        if self._is_alone:
            return self._finder.find("begun", ())
        written = self._agreed.sets.get("begun")
        return None if written is None else self._read(written)

    def _marks(self, step: Step) -> DataFrame | None:
        """What gives way; None where nothing does."""
        match step.marks:
            case "keys":
                return shape.keys_of(self._finder.root, step.match)
            case "gone":
                return self._gone(step)
            case "retired":
                ended = self._set("retired")
                return None if ended is None else ended.select(F.col(shape.ID).alias(step.match[0]))
            case _:
                return None

    def _gone(self, step: Step) -> DataFrame | None:
        """The ids of what gives way: root rows, and rows between that do not name theirs."""
        ids = self._set("gone")
        if ids is None:
            return None
        parent = self.schema[step.table].parent
        older = self._agreed.find("unnamed") if parent in self.plan.sets.between else None
        if older is not None:
            found = self._read(older).where(F.col(shape.TABLE) == F.lit(parent))
            ids = ids.unionByName(found.select(shape.ID))
        return ids.select(F.col(shape.ID).alias(step.match[0]))

    def _prune(self, step: Step) -> str | None:
        """Only rows of the root have the keys that are known."""
        if step.table != self.root or step.kind == "history":
            return None
        return pruning(self._agreed.ranges, self._hints.key_sets, "t")

    def _set(self, name: SetName) -> DataFrame | None:
        if self._is_alone:
            return self._finder.find(name, self._agreed.ranges)
        written = self._agreed.find(name)
        return None if written is None else self._read(written)

    def _read(self, written: Written) -> DataFrame:
        # Reads with a given schema: otherwise Spark runs a job to find it in the files.
        return self.spark.read.schema(written.columns).parquet(
            spark_path(self.staged.store.path(written.path))
        )

    @property
    def _agreed(self) -> Agreed:
        """What the tables agree on; it is found out once.

        Not by `cached_property`: before Python 3.12 that holds one lock for all chains, while Spark works.
        """
        if not self._agreement:
            self._agreement.append(self._agree())
        return self._agreement[0]

    def _agree(self) -> Agreed:
        """Find out what the tables agree on; a table that is alone needs only the range of its keys."""
        if self._is_alone:
            return Agreed(sets={}, ranges=self._ranges())
        store = self.staged.store
        with self.turns.taken(store.path(self.root)):
            return read_agreed(store, self.root) or agree(store, self.root, self._find_out())

    def _find_out(self) -> Agreed:
        attempt, ranges = uuid.uuid4().hex[:12], self._ranges()
        found: dict[SetName, Written] = {}
        for name in self._finder.names():
            if name == "unnamed" and found["gone"].rows == 0:
                continue
            is_found_by = self._read(found["gone"]) if name == "unnamed" else None
            frame = (
                self._finder.find(name, ranges) if is_found_by is None else self._finder.unnamed(is_found_by)
            )
            if frame is not None:
                found[name] = self._write(name, attempt, frame)
        return Agreed(sets=found, ranges=ranges)

    def _write(self, name: SetName, attempt: str, frame: DataFrame) -> Written:
        path = data_path(self.root, attempt, name)
        counted, seen = observed(frame)
        counted.write.mode("overwrite").parquet(spark_path(self.staged.store.path(path)))
        # Spark never tells of a frame that turns out empty as it is planned: it is not worth a wait.
        rows = seen.rows(seconds=_PATIENCE)
        return Written(path=path, columns=shape.columns_of(frame), rows=rows)

    def _ranges(self) -> tuple[Range, ...]:
        """The range of each key in the load, where there is something to skip."""
        asked = wanted(self.schema[self.root], self._hints.key_sets) if self.plan.is_merged else ()
        if not asked or self._hints.history or not self.into.exists(self.root, spark=self.spark):
            return ()
        texts = [text for one in asked for text in one.aggregates()]
        answers = list(self._finder.root.selectExpr(*texts).collect()[0])
        found = []
        for one in asked:
            size = len(one.aggregates())
            found.append(one.found(*answers[:size]))
            answers = answers[size:]
        return tuple(found)
