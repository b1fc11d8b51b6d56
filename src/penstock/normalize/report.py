"""Reports on normalization: rows, schema changes, rejects and durations, as text and as data."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from penstock.interfaces.humanize import human_count, human_size
from penstock.package.checks import CheckResult, check_notes
from penstock.package.metrics import DataWriterMetrics, metric_rows, sum_by_table, time_after
from penstock.package.quarantine import QUARANTINE_TABLE
from penstock.package.step_result import StepResult
from penstock.schema.defaults import SYSTEM_PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from penstock.normalize.plan import TablePlan
    from penstock.schema import Decision, Schema, StoredSchema, Table
    from penstock.schema.column import Column


@dataclass(frozen=True, slots=True, kw_only=True)
class RootReport:
    """One root table: rows that were read, rows that Spark wrote, nested tables, and schema changes."""

    table: str
    rows_in: int
    rows_out: int | None
    tables: tuple[str, ...]
    new_tables: tuple[str, ...] = ()
    new_columns: tuple[tuple[str, str], ...] = ()
    changes: tuple[str, ...] = ()
    """Schema changes as text."""
    nested: Mapping[str, int | None] = field(default_factory=dict)
    """Rows of the nested tables; None if they are not counted."""
    rejects: tuple[Reject, ...] = ()
    refused: int = 0
    """Rows of the root table that the contract refuses, or that have no key."""
    unreadable: int = 0
    """Rows that could not be read; the quarantine table has them."""

    @property
    def row_counts(self) -> dict[str, int | None]:
        """Rows that go into each table; None if only the load will count them."""
        return {name: self.rows_out if name == self.table else self.nested.get(name) for name in self.tables}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reject:
    """Values that the contract refused, and that are left out alone or with their row."""

    table: str
    column: str | None
    mode: str
    count: int
    reason: str
    examples: tuple[str, ...] = ()

    def __str__(self) -> str:
        left_out = "row" if self.mode == "discard_row" else "value"
        example = f", such as {self.examples[0]!r}" if self.examples else ""
        return f"{human_count(self.count, left_out)} of {self.table} left out: {self.reason}{example}"


def contract_rejects(decision: Decision) -> tuple[Reject, ...]:
    """Return the refusals of a decision as rejects; their counts are exact if it is based on every row."""
    return tuple(
        Reject(
            table=refusal.table,
            column=refusal.column,
            mode=refusal.mode,
            count=refusal.count,
            reason=refusal.reason,
            examples=refusal.examples,
        )
        for refusal in decision.refusals
    )


def keyless_reject(table: str, count: int) -> Reject:
    """Return the reject of rows that lack a part of their merge key."""
    reason = "a part of the primary key has no value"
    return Reject(table=table, column=None, mode="discard_row", count=count, reason=reason)


def check_reject(table: str, check: str, count: int) -> Reject:
    """Return the reject of rows that fail a check and are quarantined."""
    reason = f"they fail check {check!r}, see the table {QUARANTINE_TABLE}"
    return Reject(table=table, column=None, mode="discard_row", count=count, reason=reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepReport:
    """A step of normalization: its duration, and the bytes that it wrote."""

    name: str
    seconds: float
    bytes: int = 0

    def __str__(self) -> str:
        written = f" ({human_size(self.bytes)})" if self.bytes else ""
        return f"{self.name} {self.seconds:.1f} s{written}"


def root_report(
    table: str,
    plans: Sequence[TablePlan],
    schema: Schema | StoredSchema,
    *,
    rows_in: int,
    rows_out: int | None,
    nested: Mapping[str, int | None] | None = None,
    refused: int = 0,
) -> RootReport:
    """Return the report of one part of a root table; `schema` is the one before it."""
    before = schema.tables
    return RootReport(
        table=table,
        rows_in=rows_in,
        rows_out=rows_out,
        tables=tuple(plan.table.name for plan in plans),
        new_tables=tuple(plan.table.name for plan in plans if plan.table.name not in before),
        new_columns=tuple(
            (plan.table.name, column)
            for plan in plans
            if plan.table.name in before
            for column in plan.table.columns
            if column not in before[plan.table.name].columns
        ),
        changes=tuple(change for plan in plans for change in schema_changes(before, plan.table)),
        nested=nested or {},
        refused=refused,
    )


def merged_report(reports: Sequence[RootReport]) -> RootReport:
    """Merge the reports of the parts of a root table, in their order."""
    first = reports[0]
    tables = tuple(dict.fromkeys(table for report in reports for table in report.tables))
    new_tables = tuple(dict.fromkeys(table for report in reports for table in report.new_tables))
    return RootReport(
        table=first.table,
        rows_in=sum(report.rows_in for report in reports),
        rows_out=_sum_or_none(report.rows_out for report in reports),
        tables=tables,
        new_tables=new_tables,
        # Columns that a later part adds to a table that an earlier part created are part of the new table.
        new_columns=tuple(
            dict.fromkeys(
                column for report in reports for column in report.new_columns if column[0] not in new_tables
            )
        ),
        changes=tuple(dict.fromkeys(change for report in reports for change in report.changes)),
        nested={
            name: _sum_or_none(report.nested.get(name) for report in reports if name in report.tables)
            for name in tables
            if name != first.table
        },
        rejects=_merged_rejects(reports),
        refused=sum(report.refused for report in reports),
        unreadable=sum(report.unreadable for report in reports),
    )


def _merged_rejects(reports: Sequence[RootReport]) -> tuple[Reject, ...]:
    """Merge the rejects of several parts by their reason."""
    merged: dict[tuple[str, str | None, str, str], Reject] = {}
    for reject in (reject for report in reports for reject in report.rejects):
        key = (reject.table, reject.column, reject.mode, reject.reason)
        other = merged.get(key)
        merged[key] = replace(other, count=other.count + reject.count) if other else reject
    return tuple(merged.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class NormalizeReport:
    """One package: rows, schema changes and rejects of each root table."""

    load_id: str
    roots: tuple[RootReport, ...]
    seconds: float
    steps: tuple[StepReport, ...] = ()
    bytes_in: int = 0
    bytes_out: int = 0
    started_at: datetime | None = None
    jobs: Mapping[str, tuple[str, int | None]] = field(default_factory=dict)
    """The address and the bytes of the files of each job, by its id."""
    checks: tuple[CheckResult, ...] = ()
    """The results of the checks of its rows."""

    @property
    def metrics(self) -> dict[str, Any]:
        """The measurements of the normalization, by job and table."""
        return {
            "started_at": self.started_at,
            "finished_at": time_after(self.started_at, self.seconds),
            "job_metrics": self._job_metrics(),
            "table_metrics": sum_by_table(self._job_metrics()),
        }

    def _job_metrics(self) -> dict[str, DataWriterMetrics]:
        """Return the metrics of jobs, with the rows as far as they are known."""
        return {
            job_id: DataWriterMetrics(path, self.row_counts.get(job_id.partition(".")[0]), size)
            for job_id, (path, size) in self.jobs.items()
        }

    @property
    def row_counts(self) -> dict[str, int | None]:
        """Rows of each table, nested ones too; None if only the load will count them."""
        return {name: rows for root in self.roots for name, rows in root.row_counts.items()}

    @property
    def rejects(self) -> tuple[Reject, ...]:
        """Values that the schema contract refused, with the reasons."""
        return tuple(reject for root in self.roots for reject in root.rejects)

    @property
    def notes(self) -> list[str]:
        """One line for each reason why rows or values were left out."""
        unreadable = [
            f"of {root.table} {human_count(root.unreadable, 'row')} could not be read: "
            f"see the table {QUARANTINE_TABLE}"
            for root in self.roots
            if root.unreadable
        ]
        return [*map(str, self.rejects), *unreadable, *check_notes(self.checks)]

    def with_loaded(self, rows: Mapping[str, int | None]) -> NormalizeReport:
        """Return the report with unknown counts taken from the load."""
        return replace(
            self,
            roots=tuple(
                replace(
                    root,
                    rows_out=rows.get(root.table) if root.rows_out is None else root.rows_out,
                    nested={
                        name: rows.get(name) if count is None else count
                        for name, count in root.nested.items()
                    },
                )
                for root in self.roots
            ),
        )

    def __str__(self) -> str:
        sizes = f": {human_size(self.bytes_in)} read, {human_size(self.bytes_out)} written"
        size = sizes if self.bytes_in else ""
        lines = [f"Normalized package {self.load_id} in {self.seconds:.1f} s{size}"]
        lines += [f"  {', '.join(map(str, self.steps))}"] if self.steps else []
        for root in self.roots:
            lines += _root_lines(root)
        lines += [f"  {note}" for note in check_notes(self.checks)]
        return "\n".join(lines)


def _root_lines(root: RootReport) -> Iterator[str]:
    yield f"- {root.table}: {human_count(root.rows_in, 'row')}"
    for name in root.tables:
        if name != root.table:
            count = root.nested.get(name)
            yield f"  - {name}" + ("" if count is None else f": {human_count(count, 'row')}")
    yield from (f"  {change}" for change in root.changes)
    yield from (f"  {reject}" for reject in root.rejects)
    if root.unreadable:
        yield f"  {human_count(root.unreadable, 'row')} left out: they could not be read"


def _sum_or_none(counts: Iterator[int | None]) -> int | None:
    all_counts = list(counts)
    return None if None in all_counts else sum(count or 0 for count in all_counts)


def schema_changes(before: Mapping[str, Table], table: Table) -> Iterator[str]:
    """Yield a text for each change of a table: that it is new, or its new and changed columns."""
    old_table = before.get(table.name)
    columns = [column for column in table.complete_columns() if not column.name.startswith(SYSTEM_PREFIX)]
    if old_table is None or not old_table.complete_columns():
        names = ", ".join(f"{column.name} {column.data_type}" for column in columns)
        yield f"new table {table.name}" + (f": {names}" if names else "")
        return
    for column in columns:
        old = old_table.columns.get(column.name)
        if old is None or not old.is_complete:
            yield _new_column_text(table, column)
        elif old.data_type != column.data_type:
            yield f"{table.name}.{column.name} was {old.data_type} and is {column.data_type}"


def _new_column_text(table: Table, column: Column) -> str:
    reason = ", for values of another type" if column.has("variant") else ""
    return f"new column {table.name}.{column.name}: {column.data_type}{reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class NormalizeInfo(StepResult[NormalizeReport]):
    """The normalized packages. Printed, it lists rows, schema changes and rejects.

    >>> print(NormalizeInfo(pipeline_name="shop"))
    Pipeline 'shop' had nothing to normalize
    """

    @property
    def row_counts(self) -> dict[str, int | None]:
        """Rows of each table, nested ones too; None if only the load will count them."""
        counts: Counter[str] = Counter()
        unknown: set[str] = set()
        for package in self.packages:
            for name, rows in package.row_counts.items():
                counts[name] += rows or 0
                unknown |= {name} if rows is None else set()
        return {name: None if name in unknown else rows for name, rows in counts.items()}

    @property
    def rejects(self) -> tuple[Reject, ...]:
        """Values that schema contracts refused, with the reasons."""
        return tuple(reject for package in self.packages for reject in package.rejects)

    @property
    def checks(self) -> tuple[CheckResult, ...]:
        """The results of the checks of all packages."""
        return tuple(result for package in self.packages for result in package.checks)

    @property
    def seconds(self) -> float:
        """The duration of all packages."""
        return sum((package.seconds for package in self.packages), 0.0)

    def recorded_facts(self) -> dict[str, Any]:
        """Return the plain data that a trace keeps."""
        return {
            **StepResult.recorded_facts(self),
            "job_metrics": [*metric_rows("job_id", self.metrics_by_load("job_metrics"))],
            "table_metrics": [*metric_rows("table_name", self.metrics_by_load("table_metrics"))],
            "seconds": self.seconds,
            "bytes_in": sum(package.bytes_in for package in self.packages),
            "bytes_out": sum(package.bytes_out for package in self.packages),
            "tables": [
                {"load_id": package.load_id, "table": table, "rows": rows}
                for package in self.packages
                for table, rows in package.row_counts.items()
            ],
            "changes": [
                {"load_id": package.load_id, "table": root.table, "change": change}
                for package in self.packages
                for root in package.roots
                for change in root.changes
            ],
            "checks": [
                {"load_id": package.load_id, **result.to_dict()}
                for package in self.packages
                for result in package.checks
            ],
            "rejects": [
                {
                    "load_id": package.load_id,
                    "table": reject.table,
                    "column": reject.column,
                    "mode": reject.mode,
                    "count": reject.count,
                    "reason": reject.reason,
                }
                for package in self.packages
                for reject in package.rejects
            ],
        }

    def __str__(self) -> str:
        if not self.packages:
            return f"Pipeline {self.pipeline_name!r} had nothing to normalize"
        return "\n".join(map(str, self.packages))
