"""Checks of a package: which table each applies to, and whether it passed."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final, assert_never

from penstock.config import redact
from penstock.errors import UsageError
from penstock.interfaces.humanize import human_count
from penstock.package.checks import CheckResult
from penstock.package.quarantine import EXPECTATION_RULE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

    from penstock.interfaces.check import Check

_MAX_EXAMPLE: Final = 200
_COUNTING_KINDS: Final = ("expectation", "null_share", "unique")
_SECOND: Final = timedelta(seconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckFigures:
    """The counts of one check in the rows of one table."""

    total_rows: int
    failed_rows: int = 0
    """Rows that are not as they should be: also those with NULL, and those that repeat a key."""
    newest: datetime | None = None
    """The newest value of the column of a freshness."""
    example: str | None = None
    """The columns of the condition in a row that fails it, as JSON."""
    problem: str | None = None
    """The reason that the function of a gate returned for a failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckContext:
    """The values that bounds of gates are compared with."""

    now: datetime
    earlier_rows: Callable[[str, int], Sequence[int]]
    """Returns the row counts of a table in so many complete loads, newest first."""


NO_ROWS: Final = CheckFigures(total_rows=0)


def expectation_rule(check: Check) -> str:
    """Return the rule of rows in the quarantine that fail a check."""
    return f"{EXPECTATION_RULE}:{check.name}"


def expectation_reason(check: Check) -> str:
    """Return the reason why a row that fails a check is quarantined."""
    return f"{check.expression} is not true"


def checks_by_table(
    checks: Iterable[Check], resources: Mapping[str, str], normalize_name: Callable[[str], str]
) -> dict[str, tuple[Check, ...]]:
    """Return the checks of each table; `resources` are those of the root tables in a package.

    Raises if two checks of a table have the same name.
    """
    grouped: dict[str, list[Check]] = defaultdict(list)
    for check in checks:
        if check.table is not None:
            tables = [normalize_name(check.table)]
        else:
            tables = [table for table, resource in resources.items() if resource == check.resource]
        for table in tables:
            if any(check.name == other.name for other in grouped[table]):
                raise UsageError(
                    f"two checks of {table} have the name {check.name!r}",
                    hint="give each check of a table its own name",
                )
            grouped[table].append(check)
    return {table: tuple(of_table) for table, of_table in grouped.items()}


def quarantine_checks(checks: Iterable[Check]) -> tuple[Check, ...]:
    """Return the checks whose failing rows are quarantined."""
    return tuple(check for check in checks if check.on_fail == "quarantine")


def refuse_nested_quarantine(checks: Mapping[str, Sequence[Check]], nested_tables: Iterable[str]) -> None:
    """Raise if rows of a nested table would be quarantined: they are parts of rows of another table."""
    for table in nested_tables:
        for check in quarantine_checks(checks.get(table, ())):
            raise UsageError(
                f"check {check.name!r} cannot quarantine rows of {table}, which is a nested table",
                hint='use on_fail="warn" or "stop" for it, or check the rows of the root table',
            )


def check_result(check: Check, table: str, figures: CheckFigures, context: CheckContext) -> CheckResult:
    """Decide whether a check of a table passed."""
    passed, observed = _observation(check, table, figures, context)
    example = None if figures.example is None else redact(figures.example)
    return CheckResult(
        name=check.name,
        table=table,
        kind=check.kind,
        expression=check.expression,
        on_fail=check.on_fail,
        passed=passed,
        total_rows=figures.total_rows,
        failed_rows=figures.failed_rows if check.kind in _COUNTING_KINDS else None,
        observed=None if observed is None else redact(observed),
        example=example if example is None or len(example) <= _MAX_EXAMPLE else f"{example[:_MAX_EXAMPLE]}…",
    )


def _observation(
    check: Check, table: str, figures: CheckFigures, context: CheckContext
) -> tuple[bool, str | None]:
    """Return whether a check passed, and the figure that it compared with its bound."""
    match check.kind:
        case "expectation":
            return not figures.failed_rows, None
        case "row_count":
            return _row_count(check, table, figures.total_rows, context)
        case "null_share":
            share = figures.failed_rows / max(figures.total_rows, 1)
            observed = f"NULL in {share * 100:.3g} % of {figures.total_rows:,} rows"
            return share <= (check.maximum or 0.0), observed
        case "unique":
            repeated = human_count(figures.failed_rows, "row")
            return not figures.failed_rows, f"{repeated} with the value of another"
        case "freshness":
            return _freshness(check, figures, context.now)
        case "function":
            return figures.problem is None, figures.problem
        case _:
            assert_never(check.kind)


def _row_count(check: Check, table: str, rows: int, context: CheckContext) -> tuple[bool, str]:
    passed = (check.minimum is None or rows >= check.minimum) and (
        check.maximum is None or rows <= check.maximum
    )
    observed = human_count(rows, "row")
    earlier = context.earlier_rows(table, check.loads) if check.max_change is not None else ()
    if earlier and check.max_change is not None:
        mean = sum(earlier) / len(earlier)
        passed = passed and abs(rows - mean) <= check.max_change * mean
        observed += f", and {mean:,.0f} in the mean of {human_count(len(earlier), 'load')}"
    return passed, observed


def _freshness(check: Check, figures: CheckFigures, now: datetime) -> tuple[bool, str]:
    if figures.newest is None:
        return not figures.total_rows, "no value"
    age = now - figures.newest
    is_fresh = age.total_seconds() <= (check.maximum or 0.0)
    return is_fresh, f"{figures.newest.isoformat(sep=' ', timespec='seconds')}, {age - age % _SECOND} old"
