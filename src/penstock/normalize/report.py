"""What normalization came to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.normalize.plan import TablePlan
    from penstock.schema import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class RootReport:
    """One root table: rows that were read, rows that Spark says it wrote, and the tables that came of it."""

    table: str
    rows_in: int
    rows_out: int | None
    tables: tuple[str, ...]
    new_tables: tuple[str, ...]
    new_columns: tuple[tuple[str, str], ...]


def root_report(
    plans: Sequence[TablePlan], schema: Schema, *, rows_in: int, rows_out: int | None
) -> RootReport:
    """What one reading of a root table came to; `schema` is the one before it."""
    before = schema.tables
    known = [plan.table for plan in plans if plan.table.name in before]
    return RootReport(
        table=plans[0].table.name,
        rows_in=rows_in,
        rows_out=rows_out,
        tables=tuple(plan.table.name for plan in plans),
        new_tables=tuple(plan.table.name for plan in plans if plan.table.name not in before),
        new_columns=tuple(
            (table.name, column)
            for table in known
            for column in table.columns
            if column not in before[table.name].columns
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
        return "\n".join(lines)
