"""Checks of a package: which table each applies to, and whether it passed."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from penstock.config import redact
from penstock.errors import UsageError
from penstock.package.checks import CheckResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from penstock.interfaces.check import Check

_MAX_EXAMPLE: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckFigures:
    """The counts of one check in the rows of one table."""

    total_rows: int
    failed_rows: int = 0
    example: str | None = None
    """The columns of the condition in a row that fails it, as JSON."""


NO_ROWS: Final = CheckFigures(total_rows=0)


def expectation_rule(check: Check) -> str:
    """Return the rule of rows in the quarantine that fail a check."""
    return f"expectation:{check.name}"


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


def check_result(check: Check, table: str, figures: CheckFigures) -> CheckResult:
    """Decide whether a check of a table passed."""
    example = None if figures.example is None else redact(figures.example)
    return CheckResult(
        name=check.name,
        table=table,
        kind=check.kind,
        expression=check.expression,
        on_fail=check.on_fail,
        passed=not figures.failed_rows,
        total_rows=figures.total_rows,
        failed_rows=figures.failed_rows,
        example=example if example is None or len(example) <= _MAX_EXAMPLE else f"{example[:_MAX_EXAMPLE]}…",
    )
