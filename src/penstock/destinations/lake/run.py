"""The load of a chain: compute its merge sets, then commit each of its tables."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final, Protocol, assert_never

from pyspark.sql import functions as F

from penstock.destinations.lake import rows as shape
from penstock.destinations.lake.hints import STRATEGIES, MergeStrategy
from penstock.destinations.lake.key_ranges import key_range_queries, pruning_condition
from penstock.destinations.lake.merge_sets import (
    ChainLocks,
    MergeSetFinder,
    MergeSets,
    ReadableTables,
    SetName,
    StoredSet,
    publish_sets,
    read_sets,
    set_data_path,
)
from penstock.destinations.lake.merge_statement import MergeStatement, timestamp_literal
from penstock.destinations.lake.plan import (
    ChainPlan,
    ChainStep,
    first_load_step,
    plan_chain,
    without_superseded,
)
from penstock.schema.defaults import LOAD_ID_COLUMN
from penstock.spark.observation import observe_frame
from penstock.spark.paths import spark_path

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

    from penstock.destinations.lake.flat_files import JobFiles
    from penstock.destinations.lake.hints import MergeHints
    from penstock.destinations.lake.job import StagedTables
    from penstock.destinations.lake.key_ranges import KeyRange
    from penstock.interfaces import AppliedJob, LoadMark, TableChanges
    from penstock.schema import Table

_COUNT_TIMEOUT: Final = 0.5


class LakeTables(ReadableTables, Protocol):
    """The operations that a chain needs of a table format. Each write is one marked commit, made once."""

    @property
    def can_merge_from_itself(self) -> bool:
        """Whether the source of a merge may read its target."""

    @property
    def file_columns(self) -> tuple[str, str | None]:
        """The columns with the file of a row and its size; None for a size that is not known."""

    def commit_job_files(
        self,
        table: Table,
        files: JobFiles | None,
        mark: LoadMark,
        *,
        replaces_rows: bool,
        spark: SparkSession,
    ) -> AppliedJob | None:
        """Append the rows in files of a job, or replace all rows by them; return None if Spark has to.

        Without files all rows are deleted.
        """

    def count_deletion(self, table: str, *, spark: SparkSession) -> TableChanges | None:
        """Return what the deletion of all rows would change; None if Spark has to count them."""

    def append(self, table: Table, rows: DataFrame, mark: LoadMark, *, spark: SparkSession) -> AppliedJob:
        """Append rows; create the table if it does not exist."""

    def overwrite(self, table: Table, rows: DataFrame, mark: LoadMark, *, spark: SparkSession) -> AppliedJob:
        """Replace all rows."""

    def recreate(self, table: Table, rows: DataFrame, mark: LoadMark, *, spark: SparkSession) -> AppliedJob:
        """Replace data and schema."""

    def merge(
        self,
        table: Table,
        source: DataFrame,
        statement: MergeStatement,
        mark: LoadMark,
        *,
        spark: SparkSession,
    ) -> AppliedJob:
        """Merge a source into an existing table."""


@dataclass(frozen=True, kw_only=True)
class ChainLoad:
    """One chain of a sealed load, and its target tables."""

    root: str
    schema: Mapping[str, Table]
    staged: StagedTables
    target: LakeTables
    chain_locks: ChainLocks
    spark: SparkSession
    default_strategy: MergeStrategy = STRATEGIES[0]
    _sets_cache: list[MergeSets] = field(default_factory=list, init=False, repr=False, compare=False)

    @cached_property
    def plan(self) -> ChainPlan:
        """The commits of the chain."""
        return plan_chain(
            self.root,
            self.schema,
            with_rows=self.staged.tables,
            default_strategy=self.default_strategy,
        )

    def step_now(self, planned: ChainStep) -> ChainStep:
        """Return the commit of a table as it is now: it may not exist, or no row may be superseded."""
        exists = self.target.exists(planned.table, spark=self.spark)
        step = planned if exists else first_load_step(planned)
        if (
            step.merge_kind is not None
            and step.superseded == "root_ids"
            and self._superseded_keys(step) is None
        ):
            return without_superseded(step)
        return step

    def commit(self, planned: ChainStep) -> AppliedJob | None:
        """Commit one table, and return the result; None if the plan has no commit for it."""
        step = self.step_now(planned)
        table, mark, spark = self.schema[step.table], self.staged.mark, self.spark
        match step.commit:
            case "nothing":
                return None
            case "append":
                applied = self._commit_files(step)
                return applied or self.target.append(table, self._rows(step), mark, spark=spark)
            case "overwrite":
                applied = self._commit_files(step)
                if applied is not None:
                    return applied
                rows = self._rows(step) if step.rows else self._empty_frame(step.table)
                return self.target.overwrite(table, rows, mark, spark=spark)
            case "recreate":
                return self.target.recreate(table, self._rows(step), mark, spark=spark)
            case "merge":
                return self._merge(step, table)
            case _:
                assert_never(step.commit)

    def _commit_files(self, step: ChainStep) -> AppliedJob | None:
        """Commit the files of a table as they are; return None if Spark has to write or filter its rows."""
        if self.plan.hints is not None or step.rows not in {None, "all"}:
            return None
        files = self.staged.flat_files(step.table) if step.rows else None
        if step.rows and files is None:
            return None
        return self.target.commit_job_files(
            self.schema[step.table],
            files,
            self.staged.mark,
            replaces_rows=step.commit == "overwrite",
            spark=self.spark,
        )

    def _merge(self, step: ChainStep, table: Table) -> AppliedJob:
        merge, source = self._merge_statement(step)
        return self.target.merge(table, source, merge, self.staged.mark, spark=self.spark)

    def _merge_statement(self, step: ChainStep) -> tuple[MergeStatement, DataFrame]:
        """Return the merge of a table, and its source."""
        hints = self._hints
        rows = self._rows(step) if step.rows else None
        ends = (
            {hints.scd2.valid_to: timestamp_literal(self._boundary)}
            if step.merge_kind == "scd2" and hints.scd2
            else {}
        )
        merge = MergeStatement(
            step=step,
            hints=hints,
            columns=rows.columns if rows is not None else (),
            target_columns=frozenset(self.target.read(step.table, spark=self.spark).columns),
            pruning_condition=self._pruning_condition(step),
        )
        return merge, shape.merge_source(rows, self._superseded_keys(step), ends)

    @cached_property
    def _set_finder(self) -> MergeSetFinder:
        return MergeSetFinder(
            plan=self.plan, schema=self.schema, staged=self.staged, target=self.target, spark=self.spark
        )

    @property
    def _hints(self) -> MergeHints:
        return self._set_finder.hints

    @property
    def _is_self_contained(self) -> bool:
        """Whether no set is stored: the merge of a single table computes what it needs."""
        can_read_target = self.target.can_merge_from_itself or not self.plan.sets.needs_target_table
        return self.plan.is_flat and can_read_target

    @property
    def _boundary(self) -> str:
        history = self._hints.scd2
        return (history.boundary if history else None) or self.staged.created_at

    def _empty_frame(self, table: str) -> DataFrame:
        return self.spark.createDataFrame([], self.target.read(table, spark=self.spark).schema)

    def _rows(self, step: ChainStep) -> DataFrame:
        """Return the rows to write to a table, with all of its columns."""
        staged = self._set_finder.staged_rows(step.table)
        is_root = step.table == self.root
        values: dict[str, str] = {}
        if self.plan.hints is not None:
            staged = self._filter_rows(staged, step)
            values = shape.scd2_values(self.plan.hints.scd2, self._boundary) if is_root else {}
        return shape.table_rows(staged, self.schema[step.table], values)

    def _filter_rows(self, staged: DataFrame, step: ChainStep) -> DataFrame:
        match step.rows:
            case "kept" | "winners" if self._is_self_contained:
                return shape.filter_rows(staged, self._hints, step.rows)
            case "kept" | "winners":
                positions = self._find_set("left_out")
                return staged if positions is None else shape.anti_join_rows(staged, positions, step.rows)
            case "new":
                positions = self._new_versions()
                return staged if positions is None else shape.semi_join_rows(staged, positions)
            case _:
                return staged

    def _new_versions(self) -> DataFrame | None:
        """Return the positions of versions that begin; None means all."""
        if self._is_self_contained:
            return self._set_finder.find("begun", ())
        stored = self._merge_sets.sets.get("begun")
        return None if stored is None else self._read_set(stored)

    def _superseded_keys(self, step: ChainStep) -> DataFrame | None:
        """Return the keys of superseded rows; None if no row is superseded."""
        match step.superseded:
            case "keys":
                return shape.distinct_keys(self._set_finder.root_rows, step.match)
            case "root_ids":
                return self._superseded_ids(step)
            case "ended_versions":
                ended = self._find_set("retired")
                return None if ended is None else ended.select(F.col(shape.ROW_ID).alias(step.match[0]))
            case _:
                return None

    def _superseded_ids(self, step: ChainStep) -> DataFrame | None:
        """Return the ids of superseded root rows, and of superseded parents without a root key."""
        ids = self._find_set("gone")
        if ids is None:
            return None
        parent = self.schema[step.table].parent
        unnamed = self._merge_sets.find("unnamed") if parent in self.plan.sets.intermediate_tables else None
        if unnamed is not None:
            parents = self._read_set(unnamed).where(F.col(shape.TABLE_NAME) == F.lit(parent))
            ids = ids.unionByName(parents.select(shape.ROW_ID))
        return ids.select(F.col(shape.ROW_ID).alias(step.match[0]))

    def _pruning_condition(self, step: ChainStep) -> str | None:
        """Return the pruning condition of a root; nested rows lack the keys of the load."""
        if step.table != self.root or step.merge_kind == "scd2":
            return None
        return pruning_condition(self._merge_sets.ranges, self._hints.key_sets, "t")

    def _find_set(self, name: SetName) -> DataFrame | None:
        if self._is_self_contained:
            return self._set_finder.find(name, self._merge_sets.ranges)
        stored = self._merge_sets.find(name)
        return None if stored is None else self._read_set(stored)

    def _read_set(self, stored: StoredSet) -> DataFrame:
        # Without a schema Spark runs a job to read it from the files.
        return self.spark.read.schema(stored.columns).parquet(spark_path(self.staged.store.path(stored.path)))

    @property
    def _merge_sets(self) -> MergeSets:
        """The sets of the chain, computed once.

        Not a `cached_property`: before Python 3.12 that holds one lock for all chains while Spark runs.
        """
        if not self._sets_cache:
            self._sets_cache.append(self._load_sets())
        return self._sets_cache[0]

    def _load_sets(self) -> MergeSets:
        """Read or publish the sets; a self-contained merge needs only its key ranges."""
        if self._is_self_contained:
            return MergeSets(sets={}, ranges=self._key_ranges())
        store = self.staged.store
        with self.chain_locks.hold(store.path(self.root)):
            return read_sets(store, self.root) or publish_sets(store, self.root, self._compute_sets())

    def _compute_sets(self) -> MergeSets:
        attempt, ranges = uuid.uuid4().hex[:12], self._key_ranges()
        stored: dict[SetName, StoredSet] = {}
        for name in self._set_finder.set_names():
            if name != "unnamed":
                frame = self._set_finder.find(name, ranges)
            elif stored["gone"].rows == 0:
                continue
            else:
                frame = self._set_finder.rows_without_root_key(self._read_set(stored["gone"]))
            if frame is not None:
                stored[name] = self._write_set(name, attempt, frame)
        return MergeSets(sets=stored, ranges=ranges)

    def _write_set(self, name: SetName, attempt: str, frame: DataFrame) -> StoredSet:
        path = set_data_path(self.root, attempt, name)
        observed, observation = observe_frame(frame)
        observed.write.mode("overwrite").parquet(spark_path(self.staged.store.path(path)))
        # Spark reports no count of a frame that is planned as empty.
        rows = observation.rows(timeout=_COUNT_TIMEOUT)
        return StoredSet(path=path, columns=shape.columns_ddl(frame), rows=rows)

    def _key_ranges(self) -> tuple[KeyRange, ...]:
        """Return the range of each key of the load, if files of the root can be pruned by it."""
        if not self.plan.is_merged:
            return ()
        queries = key_range_queries(self.schema[self.root], self._hints.key_sets)
        if not queries or self._hints.scd2 or not self.target.exists(self.root, spark=self.spark):
            return ()
        aggregates = [aggregate for query in queries for aggregate in query.aggregates()]
        values = iter(self._set_finder.root_rows.selectExpr(*aggregates).collect()[0])
        return tuple(query.to_range(*(next(values) for _ in query.aggregates())) for query in queries)


def has_rows_of(rows: DataFrame, load_id: str) -> bool:
    """Return whether a table has rows of a load; only the commit of that load adds them."""
    return LOAD_ID_COLUMN in rows.columns and bool(
        rows.where(F.col(LOAD_ID_COLUMN) == load_id).select(LOAD_ID_COLUMN).take(1)
    )
