"""Budgets: the ratios, and a few counts, that the file `benchmarks/budgets.toml` allows."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.suite.results import Results

BUDGETS: Final = Path(__file__).parents[1] / "budgets.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The most that penstock may take in a case: as a ratio to a side, or as a number if there is no side."""

    case: str
    measure: str
    most: float
    beside: str = ""

    def __str__(self) -> str:
        return f"{self.case}: {self.measure}" + (f" beside {self.beside}" if self.beside else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Budgets:
    """All budgets, and the share by which a ratio may exceed its budget."""

    tolerance: float
    budgets: tuple[Budget, ...]

    def of(self, case: str, measure: str) -> list[Budget]:
        """Return the budgets of a measure."""
        return [item for item in self.budgets if (item.case, item.measure) == (case, measure)]

    def limit(self, budget: Budget) -> float:
        """Return the value that fails a check when it is exceeded: counts have no tolerance."""
        return budget.most * (1 + self.tolerance) if budget.beside else budget.most


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
    """A budget that a result exceeds, or that has no result because its case failed."""

    budget: Budget
    actual: float | None
    limit: float

    def __str__(self) -> str:
        actual = "not measured" if self.actual is None else f"{self.actual:.2f}"
        return f"{self.budget}: {actual}, allowed {self.budget.most:g} (fails above {self.limit:.2f})"


def read_budgets(text: str, size: str) -> Budgets:
    """Read the budgets of a size; an entry that names other sizes is left out."""
    data: dict[str, Any] = tomllib.loads(text)
    tolerance = data.pop("tolerance")
    return Budgets(
        tolerance=tolerance,
        budgets=tuple(
            Budget(
                case=case,
                measure=entry["measure"],
                beside=entry.get("beside", ""),
                most=entry.get(f"most_{size}", entry["most"]),
            )
            for case, entries in data.items()
            for entry in entries
            if size in entry.get("sizes", (size,))
        ),
    )


def actual_of(results: Results, budget: Budget) -> float | None:
    """Return the ratio or the median that a budget limits."""
    case = results.cases[budget.case]
    if budget.beside:
        return case.ratio(budget.measure, budget.beside)
    return case.median(budget.measure, "penstock")


def missed_budgets(results: Results, budgets: Budgets) -> list[Missed]:
    """Return the budgets of the measured cases that are exceeded by more than the tolerance."""
    result = []
    for budget in budgets.budgets:
        if budget.case not in results.cases:
            continue
        actual, limit = actual_of(results, budget), budgets.limit(budget)
        if actual is None or actual > limit:
            result.append(Missed(budget=budget, actual=actual, limit=limit))
    return result


def unknown_cases(budgets: Budgets, cases: Mapping[str, object]) -> set[str]:
    """Return the names of cases with a budget that do not exist."""
    return {budget.case for budget in budgets.budgets} - cases.keys()
