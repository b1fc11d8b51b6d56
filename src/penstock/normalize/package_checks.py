"""The checks of one package: evaluated once its tables are written, and stored in the same load."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from penstock.normalize.check_counts import CheckedTable, count_checks
from penstock.normalize.checks import check_result, refuse_nested_quarantine
from penstock.normalize.flat_rows import FlatInput, row_position_id
from penstock.normalize.prior_schema import with_root_table
from penstock.normalize.quarantine import system_table
from penstock.normalize.report import merged_report
from penstock.normalize.small_tables import write_flat_rows
from penstock.package.checks import CHECKS_COLUMNS, CHECKS_TABLE
from penstock.package.extract_manifest import ExtractedTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from penstock.interfaces.check import Check
    from penstock.normalize.checks import CheckContext
    from penstock.normalize.table_parts import PackageContext, TablePart
    from penstock.package import TableEntry
    from penstock.package.checks import CheckResult
    from penstock.schema import StoredSchema


def evaluate_checks(
    context: PackageContext,
    checks: Mapping[str, Sequence[Check]],
    roots: Mapping[str, Sequence[TablePart]],
    entries: Iterable[TableEntry],
    bounds: CheckContext,
) -> tuple[CheckResult, ...]:
    """Return the results of the checks of each table, from the rows that the jobs of a package read."""
    nested = {plan.table.name for parts in roots.values() for part in parts for plan in part.plans}
    refuse_nested_quarantine(checks, nested - roots.keys())
    jobs = {entry.table: entry.job for entry in entries}
    tables = {
        table: _checked_table(context, table, jobs[table], parts)
        for parts in roots.values()
        for table in {plan.table.name for part in parts for plan in part.plans}
        if table in checks and table in jobs
    }
    with context.stopwatch("check"):
        figures = count_checks(checks, tables)
    return tuple(
        check_result(check, table, figures[table, check.name], bounds)
        for table, of_table in checks.items()
        for check in of_table
    )


def _checked_table(context: PackageContext, table: str, job: str, parts: Sequence[TablePart]) -> CheckedTable:
    with_rows = [part for part in parts if any(plan.table.name == table for plan in part.plans)]
    report = merged_report([part.report for part in with_rows])
    flat = with_rows[0].dataset.flat_files.get(table) if len(with_rows) == 1 else None
    quarantined: dict[str, int] = {}
    for part in with_rows if report.table == table else ():
        for name, count in part.dataset.refused_by_check.items():
            quarantined[name] = quarantined.get(name, 0) + count
    return CheckedTable(
        name=table,
        frame=lambda: context.package.job(job).frame(context.spark),
        rows=report.row_counts[table],
        content=None if flat is None else flat.content,
        quarantined=quarantined,
    )


def write_check_results(
    context: PackageContext, results: Sequence[CheckResult], schema: StoredSchema
) -> TablePart:
    """Write a row for each result to the table of checks."""
    load_id = context.package.load_id
    source = ExtractedTable(
        table=CHECKS_TABLE,
        resource=CHECKS_TABLE,
        write_disposition="append",
        folder="",
        rows=len(results),
        bytes=0,
        files=0,
    )
    prior_schema = with_root_table(schema, CHECKS_TABLE, source, context.table_extras)
    checks_table = system_table(prior_schema, CHECKS_TABLE, CHECKS_COLUMNS, context.options)
    rows = [
        FlatInput(
            row_id=row_position_id(load_id, file=CHECKS_TABLE, position=number),
            text=orjson.dumps(result.columns),
            position="",
        )
        for number, result in enumerate(results)
    ]
    return write_flat_rows(context, checks_table.decision, checks_table.layout, rows, schema)
