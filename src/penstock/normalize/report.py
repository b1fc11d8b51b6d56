"""What normalization came to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.normalize.plan import TablePlan
    from penstock.schema import Schema, StoredSchema


@dataclass(frozen=True, slots=True, kw_only=True)
class RootReport:
    """One root table: rows that were read, rows that Spark says it wrote, and the tables that came of it."""

    table: str
    rows_in: int
    rows_out: int | None
    tables: tuple[str, ...]
    new_tables: tuple[str, ...]
    new_columns: tuple[tuple[str, str], ...]
    rejects: tuple[Reject, ...] = ()
    put_aside: int = 0
    """Rows that nothing could be made of; they stand in the table of rows put aside."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reject:
    """Values that the contract refused: left out, or with them their row."""

    table: str
    column: str | None
    mode: str
    count: int
    reason: str
    examples: tuple[str, ...] = ()

    def __str__(self) -> str:
        left_out = "rows" if self.mode == "discard_row" else "values"
        example = f", such as {self.examples[0]!r}" if self.examples else ""
        return f"{self.count:,} {left_out} of {self.table} left out: {self.reason}{example}"


def root_report(
    table: str,
    plans: Sequence[TablePlan],
    schema: Schema | StoredSchema,
    *,
    rows_in: int,
    rows_out: int | None,
) -> RootReport:
    """What one reading of a root table came to; `schema` is the one before it."""
    before = schema.tables
    known = [plan.table for plan in plans if plan.table.name in before]
    return RootReport(
        table=table,
        rows_in=rows_in,
        rows_out=rows_out,
        tables=tuple(plan.table.name for plan in plans),
        new_tables=tuple(plan.table.name for plan in plans if plan.table.name not in before),
        new_columns=tuple(
            (found.name, column)
            for found in known
            for column in found.columns
            if column not in before[found.name].columns
        ),
    )


def joined_reports(reports: Sequence[RootReport]) -> RootReport:
    """One report of a table that was read in several parts, in their order."""
    first = reports[0]
    out = [report.rows_out for report in reports if report.rows_out is not None]
    new_tables = tuple(dict.fromkeys(table for report in reports for table in report.new_tables))
    return RootReport(
        table=first.table,
        rows_in=sum(report.rows_in for report in reports),
        rows_out=sum(out) if len(out) == len(reports) else None,
        tables=tuple(dict.fromkeys(table for report in reports for table in report.tables)),
        new_tables=new_tables,
        # What a later part added to a table that an earlier one made is no news of its own.
        new_columns=tuple(
            one for report in reports for one in report.new_columns if one[0] not in new_tables
        ),
        rejects=tuple(one for report in reports for one in report.rejects),
        put_aside=sum(report.put_aside for report in reports),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class NormalizeInfo:
    """One package after normalize."""

    load_id: str
    roots: tuple[RootReport, ...]
    seconds: float

    def __str__(self) -> str:
        lines = [f"Normalized package {self.load_id} in {self.seconds:.1f} s"]
        for root in self.roots:
            lines.append(f"- {root.table}: {root.rows_in:,} rows into {', '.join(root.tables)}")
            lines += [f"  new table {table}" for table in root.new_tables]
            lines += [f"  new column {table}.{column}" for table, column in root.new_columns]
            lines += [f"  {reject}" for reject in root.rejects]
            lines += [f"  {root.put_aside:,} rows put aside"] if root.put_aside else []
        return "\n".join(lines)
