"""Counts of what the commits of a chain would change, by one job of Spark for all tables of a load.

Only the keys of rows are read. A merge is counted with the source and the condition of its statement.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, Literal, assert_never

from pyspark.sql import functions as F

from penstock.destinations.lake.merge_statement import (
    OP_COLUMN,
    SOURCE_ALIAS,
    SUPERSEDED,
    TARGET_ALIAS,
)
from penstock.destinations.lake.rows import FILE, FILE_BYTES, column
from penstock.destinations.lake.run import ChainLoad
from penstock.errors import InternalError
from penstock.interfaces import TableChanges

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pyspark.sql import DataFrame, Row

    from penstock.destinations.lake.plan import ChainStep

_Metric = Literal["written", "matched", "replaced", "deleted"]
_TABLE, _METRIC, _ROWS = "_penstock_table", "_penstock_metric", "_penstock_rows"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Count:
    """A frame whose rows are counted."""

    metric: _Metric
    rows: DataFrame
    has_files: bool = False
    """Whether it has the file of each row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _StepChanges:
    """The changes of one commit: as far as they are known, and the frames to count."""

    step: ChainStep
    changes: TableChanges
    counts: tuple[_Count, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ChainChanges(ChainLoad):
    """One chain of a load that is not sealed. The merge sets are stored in the package, as a load does it."""

    row_counts: Mapping[str, int | None] = field(default_factory=dict)
    """The staged rows of each table; None if they are not counted."""

    def step_changes(self) -> Iterator[_StepChanges]:
        """Yield the changes of each commit."""
        for planned in self.plan.steps:
            step = self.step_now(planned)
            match step.commit:
                case "nothing":
                    continue
                case "append":
                    yield self._with_written(_StepChanges(step=step, changes=TableChanges(table=step.table)))
                case "overwrite" | "recreate":
                    yield self._with_written(self._deletion(step))
                case "merge":
                    yield self._merge_changes(step)
                case _:
                    assert_never(step.commit)

    def _with_written(self, changes: _StepChanges) -> _StepChanges:
        """Add the rows that a commit writes; without a filter they are those of the job."""
        step = changes.step
        if step.rows is None:
            return changes
        staged_rows = self._count_staged(step.table) if step.rows == "all" else None
        if staged_rows is not None:
            return replace(changes, changes=replace(changes.changes, inserted=staged_rows))
        return replace(changes, counts=(*changes.counts, _Count(metric="written", rows=self._rows(step))))

    def _count_staged(self, table: str) -> int | None:
        """Return the staged rows of a table; None if Spark has to count them."""
        rows = self.row_counts.get(table)
        files = self.staged.flat_files(table) if rows is None else None
        return rows if files is None else files.count_rows()

    def _deletion(self, step: ChainStep) -> _StepChanges:
        """Return the deletion of all rows of a table."""
        deletion = self.target.count_deletion(step.table, spark=self.spark)
        if deletion is not None:
            return _StepChanges(step=step, changes=deletion)
        rows = self._read_with_files(step.table)
        return _StepChanges(
            step=step,
            changes=TableChanges(table=step.table),
            counts=(_Count(metric="matched", rows=rows, has_files=True),),
        )

    def _read_with_files(self, table: str) -> DataFrame:
        """Return the rows of a table with the columns `FILE` and `FILE_BYTES`."""
        # Opens the session, without which there are no columns.
        rows = self.target.read(table, spark=self.spark)
        file, size = self.target.file_columns
        file_bytes = F.lit(None).cast("bigint") if size is None else F.col(size)
        return rows.select("*", F.col(file).alias(FILE), file_bytes.alias(FILE_BYTES))

    def _merge_changes(self, step: ChainStep) -> _StepChanges:
        statement, source = self._merge_statement(step)
        target = self._read_with_files(step.table).alias(TARGET_ALIAS)
        condition = F.expr(statement.on_condition())
        changes = _StepChanges(step=step, changes=TableChanges(table=step.table))

        def matched_by(rows: DataFrame) -> DataFrame:
            return target.join(rows.alias(SOURCE_ALIAS), condition, "left_semi")

        match step.merge_kind:
            case "delete_insert" | "scd2":
                superseded = source.where(F.col(OP_COLUMN) == F.lit(SUPERSEDED))
                matched = _Count(metric="matched", rows=matched_by(superseded), has_files=True)
                changes = replace(changes, counts=(matched, *self._replaced(step, target)))
                return self._with_written(changes) if step.rows else changes
            case "insert":
                rows = source.alias(SOURCE_ALIAS).join(target, condition, "left_anti")
                return replace(changes, counts=(_Count(metric="written", rows=rows),))
            case "upsert":
                flag = statement.hints.hard_delete
                matched = _Count(metric="matched", rows=matched_by(source), has_files=True)
                written = source.where(f"NOT {flag.sql()}") if flag else source
                replaced = written.alias(SOURCE_ALIAS).join(target, condition, "left_semi")
                return replace(
                    changes,
                    counts=(
                        matched,
                        _Count(metric="written", rows=written),
                        _Count(metric="replaced", rows=replaced),
                        *(
                            [_Count(metric="deleted", rows=matched_by(source.where(flag.sql())))]
                            if flag
                            else []
                        ),
                    ),
                )
            case None:
                raise InternalError(f"the merge of {step.table} has no kind", hint="report this")
            case _:
                assert_never(step.merge_kind)

    def _replaced(self, step: ChainStep, target: DataFrame) -> Iterator[_Count]:
        """Yield the written root rows whose primary key the table has."""
        keys = self._hints.primary_key
        if step.merge_kind == "delete_insert" and step.table == self.root and step.rows and keys:
            target_keys = target.select(*map(column, keys))
            replaced = self._rows(step).join(target_keys, on=list(keys), how="left_semi")
            yield _Count(metric="replaced", rows=replaced)


def count_changes(chains: Iterable[ChainChanges]) -> list[TableChanges]:
    """Return the changes of the tables of all chains; one job counts all that is not known."""
    changes = [step for chain in chains for step in chain.step_changes()]
    frames = [_aggregate(step.changes.table, count) for step in changes for count in step.counts]
    rows = reduce(lambda merged, frame: merged.union(frame), frames).collect() if frames else []
    counted: dict[str, dict[_Metric, Row]] = {step.changes.table: {} for step in changes}
    for row in rows:
        counted[row[_TABLE]][row[_METRIC]] = row
    return [_with_counts(step, counted[step.changes.table]) for step in changes]


def _aggregate(table: str, count: _Count) -> DataFrame:
    """Return one row: the number of rows, and the number and size of their files."""
    names = F.lit(table).alias(_TABLE), F.lit(count.metric).alias(_METRIC)
    if not count.has_files:
        unknown = F.lit(None).cast("bigint")
        return count.rows.agg(F.count("*").alias(_ROWS)).select(
            *names, _ROWS, unknown.alias(FILE), unknown.alias(FILE_BYTES)
        )
    by_file = count.rows.groupBy(FILE).agg(F.count("*").alias(_ROWS), F.max(FILE_BYTES).alias(FILE_BYTES))
    totals = by_file.agg(
        F.coalesce(F.sum(_ROWS), F.lit(0)).alias(_ROWS),
        F.count(FILE).alias(FILE),
        F.sum(FILE_BYTES).alias(FILE_BYTES),
    )
    return totals.select(*names, _ROWS, FILE, FILE_BYTES)


def _with_counts(changes: _StepChanges, counted: Mapping[_Metric, Row]) -> TableChanges:
    """Return the changes of a commit with the counts of its frames."""
    rows = {metric: int(row[_ROWS]) for metric, row in counted.items()}
    counted_changes, replaced = changes.changes, rows.get("replaced", 0)
    written = rows.get("written", counted_changes.inserted or 0)
    result = replace(counted_changes, inserted=written - replaced)
    if "matched" not in counted:
        return result
    matched, (files, size) = rows["matched"], (counted["matched"][FILE], counted["matched"][FILE_BYTES])
    result = replace(result, files=files, file_bytes=size if files else 0)
    match changes.step.merge_kind:
        case "scd2":
            return replace(result, ended=matched)
        case "upsert":
            deleted = rows.get("deleted", 0)
            return replace(result, updated=matched - deleted, deleted=deleted)
        case _:
            return replace(result, updated=replaced, deleted=matched - replaced)
