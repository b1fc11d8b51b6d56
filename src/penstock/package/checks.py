"""The results of checks: the table that stores them, and their texts."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from penstock.pages.elements import Html, element, table_element

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from penstock.interfaces.check import CheckKind, OnFail
    from penstock.schema.types import DataType

CHECKS_TABLE: Final = "_dlt_checks"
CHECKS_COLUMNS: Final[Mapping[str, DataType]] = {
    "check_name": "text",
    "table_name": "text",
    "kind": "text",
    "expression": "text",
    "on_fail": "text",
    "passed": "bool",
    "failed_rows": "bigint",
    "total_rows": "bigint",
    "observed": "text",
}
"""Columns in order. `observed` is the figure that a gate compares with its bound, as text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """The result of one check of one table in one load."""

    name: str
    table: str
    kind: CheckKind
    expression: str
    on_fail: OnFail
    passed: bool
    total_rows: int
    """The rows that were checked: all of the table, or those that no other check has quarantined."""
    failed_rows: int | None = None
    """The rows that fail it; None for a check of all rows together."""
    observed: str | None = None
    """The figure that was compared with the bound."""
    example: str | None = None
    """The columns of the condition in one of the rows that fail it, as JSON."""

    @property
    def prevents_load(self) -> bool:
        """Whether the load must not be published."""
        return not self.passed and self.on_fail == "stop"

    @property
    def columns(self) -> dict[str, Any]:
        """The values of the row in the table of checks."""
        return {
            "check_name": self.name,
            "table_name": self.table,
            "kind": self.kind,
            "expression": self.expression,
            "on_fail": self.on_fail,
            "passed": self.passed,
            "failed_rows": self.failed_rows,
            "total_rows": self.total_rows,
            "observed": self.observed,
        }

    @property
    def outcome(self) -> str:
        """The result in one word or two."""
        if self.passed:
            return "passed"
        return {"warn": "failed", "quarantine": "quarantined", "stop": "stops the load"}[self.on_fail]

    @property
    def figures(self) -> str:
        """The failed rows of all rows, or the observed figure."""
        if self.kind != "expectation":
            return self.observed or ""
        return f"{self.failed_rows:,} of {self.total_rows:,} rows"

    def __str__(self) -> str:
        subject = f"check {self.name!r} of {self.table}"
        if self.passed:
            return f"{subject} passed"
        effect = "stops the load" if self.prevents_load else "failed"
        if self.kind != "expectation":
            return f"{subject} {effect}: {self.observed}; expected: {self.expression}"
        example = f", such as {self.example}" if self.example else ""
        return f"{subject} {effect}: {self.expression} is not true in {self.figures}{example}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)


def checks_element(caption: str, results: Iterable[CheckResult]) -> Html:
    """Return a table of results for a page."""
    rows = [
        (
            result.table,
            result.name,
            result.expression,
            element("span", result.outcome, class_="good" if result.passed else "bad"),
            result.figures,
            None if result.example is None else element("code", result.example),
        )
        for result in results
    ]
    return table_element(caption, ("table", "check", "expected", "result", "observed", "example"), rows)


def check_notes(results: Iterable[CheckResult]) -> Iterator[str]:
    """Yield a line for each failed check, and one with the number of those that passed.

    Quarantined rows are noted with the others that are left out.
    """
    all_results = list(results)
    yield from (str(each) for each in all_results if not each.passed and each.on_fail != "quarantine")
    if all_results:
        passed = sum(result.passed for result in all_results)
        yield f"{passed} of {len(all_results)} checks passed: see the table {CHECKS_TABLE}"
