"""Counts of rows that fail checks, in the rows that the jobs of a package read.

Rows that the driver wrote are checked in plain Python. All other tables are checked by one Spark job, with
one aggregate for each table; a second job fetches examples if rows fail.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

import orjson
import pyarrow.compute as pc
from pyspark.errors import AnalysisException
from pyspark.sql import functions as F

from penstock.errors import UsageError
from penstock.normalize.checks import NO_ROWS, CheckFigures
from penstock.normalize.row_conditions import UnsupportedCondition, compile_condition, condition_columns
from penstock.package.sql import literal, quote_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from penstock.interfaces.check import Check
    from penstock.normalize.flat_rows import FlatTable

_MAX_EXAMPLES: Final = 5
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


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
            if counted is None and table is not None and check.function is not None:
                counted = _call_function(check, table, check.function)
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
    if check.kind == "row_count" and table.rows is not None:
        return CheckFigures(total_rows=table.rows)
    if table.content is None or check.kind == "function":
        return None
    if check.kind == "expectation":
        return _count_failing(check, table.content)
    return _count_gate(check, table.content)


def _count_gate(check: Check, content: FlatTable) -> CheckFigures | None:
    rows, names = content.rows, _used_columns([check], content.column_types)
    total = rows.num_rows
    match check.kind:
        case "null_share":
            nulls = rows.column(names[0]).null_count if names else total
            return CheckFigures(total_rows=total, failed_rows=nulls)
        case "unique":
            has_key = len(names) == len({column.lower() for column in check.columns})
            keys = [key for key in _values(rows, names) if None not in key] if has_key else []
            return CheckFigures(total_rows=total, failed_rows=len(keys) - len(set(keys)))
        case "freshness" if not names:
            return CheckFigures(total_rows=total)
        case "freshness" if content.column_types[names[0]] == "TIMESTAMP":
            return CheckFigures(total_rows=total, newest=pc.max(rows.column(names[0])).as_py())
        case _:
            return None


def _count_failing(check: Check, content: FlatTable) -> CheckFigures | None:
    rows, column_types = content.rows, content.column_types
    try:
        failing = failing_rows(rows, column_types, [check])
    except UnsupportedCondition:
        return None
    example = None
    if failing:
        failing_row = rows.select(_used_columns([check], column_types)).slice(next(iter(failing)), 1)
        example = orjson.dumps(failing_row.to_pylist()[0], default=str).decode()
    return CheckFigures(total_rows=rows.num_rows, failed_rows=len(failing), example=example)


def used_columns(check: Check) -> tuple[str, ...]:
    """Return the columns that a check names."""
    return condition_columns(check.expression) if check.kind == "expectation" else check.columns


def _values(rows: pa.Table, names: Sequence[str]) -> Iterable[tuple[Any, ...]]:
    return zip(*(rows.column(name).to_pylist() for name in names), strict=True)


def _used_columns(checks: Sequence[Check], column_types: Mapping[str, str]) -> list[str]:
    used = {name.lower() for check in checks for name in used_columns(check)}
    return [name for name in column_types if name.lower() in used]


def _row_values(rows: pa.Table, names: Sequence[str]) -> list[dict[str, Any]]:
    return rows.select(names).to_pylist() if names else [{} for _ in range(rows.num_rows)]


# --- with Spark


def _call_function(check: Check, table: CheckedTable, function: Callable[[Any], Any]) -> CheckFigures:
    """Call the function of a gate with the rows of its table."""
    frame = table.frame()
    try:
        answer = function(frame)
    except Exception as error:
        raise UsageError(
            f"the function of gate {check.name!r} of {table.name} raised {type(error).__name__}: {error}",
            hint="let it return True, or a text that states what is wrong with the rows",
        ) from error
    problem = None if answer is True else answer if isinstance(answer, str) else f"it returned {answer!r}"
    return CheckFigures(total_rows=frame.count() if table.rows is None else table.rows, problem=problem)


def _count_with_spark(
    checks: Mapping[str, Sequence[Check]], tables: Mapping[str, CheckedTable]
) -> dict[tuple[str, str], CheckFigures]:
    frames = {name: with_missing_columns(tables[name].frame(), of_table) for name, of_table in checks.items()}
    totals = [
        _analyzed(frames[name], of_table).agg(
            F.lit(name).alias("table"),
            F.count(F.lit(1)).alias("total"),
            F.array(*(F.expr(_count_sql(check)) for check in of_table)).alias("counts"),
        )
        for name, of_table in checks.items()
    ]
    counts = {row["table"]: row for row in _union(totals).collect()}
    figures = {
        (name, check.name): _figures(check, tables[name], counts[name]["total"], count)
        for name, of_table in checks.items()
        for check, count in zip(of_table, counts[name]["counts"], strict=True)
    }
    failed = [
        (name, check)
        for name, of_table in checks.items()
        for check in of_table
        if check.kind == "expectation"
        and check.on_fail != "quarantine"
        and figures[name, check.name].failed_rows
        and used_columns(check)
    ]
    examples = _examples(failed[:_MAX_EXAMPLES], frames)
    return {key: replace(figure, example=examples.get(key)) for key, figure in figures.items()}


def _figures(check: Check, table: CheckedTable, rows: int, count: int | None) -> CheckFigures:
    if check.kind != "freshness":
        return _with_quarantined(check, table, rows, count or 0)
    newest = None if count is None else _EPOCH + timedelta(microseconds=count)
    return CheckFigures(total_rows=rows, newest=newest)


def _count_sql(check: Check) -> str:
    """Return an aggregate: the rows that are not as they should be, or the newest value in microseconds."""
    columns = [quote_name(column) for column in check.columns]
    match check.kind:
        case "expectation":
            return f"count_if({row_fails(check)})"
        case "null_share":
            return f"count_if({columns[0]} IS NULL)"
        case "unique":
            has_key = " AND ".join(f"{column} IS NOT NULL" for column in columns)
            return f"count_if({has_key}) - count(DISTINCT {', '.join(columns)})"
        case "freshness":
            return f"unix_micros(max(CAST({columns[0]} AS TIMESTAMP)))"
        case _:
            return "count(1)"


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
            f"to_json(struct({', '.join(map(quote_name, used_columns(check)))}),"
            " map('ignoreNullFields', 'false')) AS `example`",
        )
        for name, check in failed
    ]
    return {(row["table"], row["check"]): row["example"] for row in _union(rows).collect()}


def with_missing_columns(frame: DataFrame, checks: Sequence[Check]) -> DataFrame:
    """Return the rows with the columns of conditions that the table does not have: they are NULL."""
    present = {name.lower() for name in frame.columns}
    missing = dict.fromkeys(
        name for check in checks for name in used_columns(check) if name.lower() not in present
    )
    return frame.withColumns({name: F.lit(None).cast("string") for name in missing}) if missing else frame


def _analyzed(frame: DataFrame, checks: Sequence[Check]) -> DataFrame:
    """Return the rows; raise for a condition that Spark does not accept, without a Spark job."""
    for check in checks:
        if check.kind == "expectation":
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
