"""Counts of rows that fail checks, in the rows that the jobs of a package read.

Rows that the driver wrote are checked in plain Python. All other tables are checked by one Spark job, with
one aggregate for each table; a second job fetches examples if rows fail.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

import orjson
from pyspark.errors import AnalysisException
from pyspark.sql import functions as F

from penstock.errors import UsageError
from penstock.normalize.checks import NO_ROWS, CheckFigures
from penstock.normalize.row_conditions import UnsupportedCondition, compile_condition, condition_columns
from penstock.package.sql import literal, quote_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from penstock.interfaces.check import Check
    from penstock.normalize.flat_rows import FlatTable

_MAX_EXAMPLES: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedTable:
    """The rows of one table in a package."""

    name: str
    frame: Callable[[], DataFrame]
    """Returns the rows as a DataFrame."""
    rows: int | None
    """The number of rows; None if it is not known yet."""
    content: FlatTable | None = None
    """The rows, if the driver wrote them."""
    quarantined: Mapping[str, int] = field(default_factory=dict)
    """The numbers of rows that were left out, by the check that they fail."""


def count_checks(
    checks: Mapping[str, Sequence[Check]], tables: Mapping[str, CheckedTable]
) -> dict[tuple[str, str], CheckFigures]:
    """Return the figures of each check by its table and its name; of no rows for a table without rows."""
    figures: dict[tuple[str, str], CheckFigures] = {}
    remaining: dict[str, list[Check]] = {}
    for name, of_table in checks.items():
        table = tables.get(name)
        for check in of_table:
            counted = NO_ROWS if table is None else _count_in_driver(check, table)
            if counted is None:
                remaining.setdefault(name, []).append(check)
            else:
                figures[name, check.name] = counted
    if remaining:
        figures |= _count_with_spark(remaining, {name: tables[name] for name in remaining})
    return figures


def failing_rows(
    rows: pa.Table, column_types: Mapping[str, str], checks: Sequence[Check]
) -> dict[int, Check]:
    """Return the rows that fail one of the checks, by their index, with the first one that they fail.

    Raises `UnsupportedCondition` if only Spark can evaluate a condition.
    """
    conditions = [(check, compile_condition(check.expression, column_types)) for check in checks]
    names = _used_columns(checks, column_types)
    return {
        index: failed
        for index, row in enumerate(_row_values(rows, names))
        if (failed := next((check for check, holds in conditions if holds(row) is not True), None))
        is not None
    }


def _count_in_driver(check: Check, table: CheckedTable) -> CheckFigures | None:
    """Return the figures of rows that the driver has; None if Spark must count them."""
    if check.on_fail == "quarantine" and table.rows is not None:
        return _with_quarantined(check, table, table.rows, 0)
    if table.content is None:
        return None
    rows, column_types = table.content.rows, table.content.column_types
    try:
        failing = failing_rows(rows, column_types, [check])
    except UnsupportedCondition:
        return None
    example = None
    if failing:
        failing_row = rows.select(_used_columns([check], column_types)).slice(next(iter(failing)), 1)
        example = orjson.dumps(failing_row.to_pylist()[0], default=str).decode()
    return CheckFigures(total_rows=rows.num_rows, failed_rows=len(failing), example=example)


def _used_columns(checks: Sequence[Check], column_types: Mapping[str, str]) -> list[str]:
    used = {name.lower() for check in checks for name in condition_columns(check.expression)}
    return [name for name in column_types if name.lower() in used]


def _row_values(rows: pa.Table, names: Sequence[str]) -> list[dict[str, Any]]:
    return rows.select(names).to_pylist() if names else [{} for _ in range(rows.num_rows)]


# --- with Spark


def _count_with_spark(
    checks: Mapping[str, Sequence[Check]], tables: Mapping[str, CheckedTable]
) -> dict[tuple[str, str], CheckFigures]:
    frames = {name: with_missing_columns(tables[name].frame(), of_table) for name, of_table in checks.items()}
    totals = [
        _analyzed(frames[name], of_table).agg(
            F.lit(name).alias("table"),
            F.count(F.lit(1)).alias("total"),
            F.array(*(F.count_if(F.expr(row_fails(check))) for check in of_table)).alias("failed"),
        )
        for name, of_table in checks.items()
    ]
    counts = {row["table"]: row for row in _union(totals).collect()}
    figures = {
        (name, check.name): _with_quarantined(check, tables[name], counts[name]["total"], failed_rows)
        for name, of_table in checks.items()
        for check, failed_rows in zip(of_table, counts[name]["failed"], strict=True)
    }
    failed = [
        (name, check)
        for name, of_table in checks.items()
        for check in of_table
        if figures[name, check.name].failed_rows
        and check.on_fail != "quarantine"
        and condition_columns(check.expression)
    ]
    examples = _examples(failed[:_MAX_EXAMPLES], frames)
    return {key: replace(figure, example=examples.get(key)) for key, figure in figures.items()}


def _with_quarantined(check: Check, table: CheckedTable, rows: int, failed_rows: int) -> CheckFigures:
    """Return the figures of a check; rows that it quarantined are not among the rows of the table."""
    if check.on_fail != "quarantine":
        return CheckFigures(total_rows=rows, failed_rows=failed_rows)
    return CheckFigures(
        total_rows=rows + sum(table.quarantined.values()), failed_rows=table.quarantined.get(check.name, 0)
    )


def _examples(
    failed: Sequence[tuple[str, Check]], frames: Mapping[str, DataFrame]
) -> dict[tuple[str, str], str]:
    """Return for each failed check the columns of one row that fails it, as JSON."""
    if not failed:
        return {}
    rows = [
        frames[name]
        .where(row_fails(check))
        .limit(1)
        .selectExpr(
            f"{literal(name)} AS `table`",
            f"{literal(check.name)} AS `check`",
            f"to_json(struct({', '.join(map(quote_name, condition_columns(check.expression)))}),"
            " map('ignoreNullFields', 'false')) AS `example`",
        )
        for name, check in failed
    ]
    return {(row["table"], row["check"]): row["example"] for row in _union(rows).collect()}


def with_missing_columns(frame: DataFrame, checks: Sequence[Check]) -> DataFrame:
    """Return the rows with the columns of conditions that the table does not have: they are NULL."""
    present = {name.lower() for name in frame.columns}
    missing = dict.fromkeys(
        name
        for check in checks
        for name in condition_columns(check.expression)
        if name.lower() not in present
    )
    return frame.withColumns({name: F.lit(None).cast("string") for name in missing}) if missing else frame


def _analyzed(frame: DataFrame, checks: Sequence[Check]) -> DataFrame:
    """Return the rows; raise for a condition that Spark does not accept, without a Spark job."""
    for check in checks:
        require_condition(frame, check)
    return frame


def require_condition(frame: DataFrame, check: Check) -> None:
    """Raise unless Spark accepts the condition of a check for these rows."""
    try:
        frame.selectExpr(row_fails(check)).schema  # noqa: B018 - Connect analyzes a frame for its schema
    except AnalysisException as error:
        raise UsageError(
            f"Spark does not accept the condition of check {check.name!r}: {check.expression}",
            hint="write it in Spark SQL, with the columns of the table",
        ) from error


def row_fails(check: Check) -> str:
    """Return SQL for whether a row fails a check: its condition is not true."""
    return f"NOT coalesce(({check.expression}), false)"


def _union(frames: Sequence[DataFrame]) -> DataFrame:
    return reduce(lambda union, frame: union.unionByName(frame), frames)
