"""Results: by case and measure, the values of each side in each round. Nothing here runs anything."""

from __future__ import annotations

import json
import statistics
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PENSTOCK: Final = "penstock"
BARE: Final = "bare Spark"
DLT: Final = "dlt"
SIDES: Final = (PENSTOCK, BARE, DLT)
SECONDS: Final = "seconds"
PROCESSOR: Final = "processor seconds"
JOBS: Final = "Spark jobs"

Values = tuple[float, ...]
Measures = dict[str, dict[str, Values]]
"""Values by measure and side, one for each round."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """A measured case; `error` is the reason if it failed."""

    title: str
    measures: Measures = field(default_factory=dict)
    measured_at: str = ""
    commit: str = ""
    error: str = ""

    def median(self, measure: str, side: str) -> float | None:
        """Return the median of the rounds; None if the side was not measured."""
        values = self.measures.get(measure, {}).get(side)
        return statistics.median(values) if values else None

    @property
    def rounds(self) -> int:
        """The number of rounds of penstock."""
        return max((len(sides.get(PENSTOCK, ())) for sides in self.measures.values()), default=0)

    def ratio(self, measure: str, beside: str, side: str = PENSTOCK) -> float | None:
        """Return the ratio of two medians; None if one is missing or the divisor is zero."""
        of, to = self.median(measure, side), self.median(measure, beside)
        return None if of is None or not to else of / to


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """Results of one size on one machine."""

    size: str
    machine: Mapping[str, str]
    cases: Mapping[str, CaseResult]

    def with_cases(self, cases: Mapping[str, CaseResult]) -> Results:
        """Return results in which new cases replace older ones of the same name."""
        return replace(self, cases={**self.cases, **cases})

    def to_json(self) -> str:
        """Return the text of a results file."""
        cases = {name: case_to_dict(case) for name, case in self.cases.items()}
        return json.dumps({"size": self.size, "machine": dict(self.machine), "cases": cases}, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Results:
        """Read a results file."""
        data = json.loads(text)
        cases = {name: case_from_dict(case) for name, case in data["cases"].items()}
        return cls(size=data["size"], machine=data["machine"], cases=cases)


def case_to_dict(case: CaseResult) -> dict[str, Any]:
    """Return a case as a results file has it."""
    measures = {
        measure: {side: [round(value, 4) for value in values] for side, values in sides.items()}
        for measure, sides in case.measures.items()
    }
    result = {
        "title": case.title,
        "measured_at": case.measured_at,
        "commit": case.commit,
        "measures": measures,
    }
    return result | ({"error": case.error} if case.error else {})


def case_from_dict(data: Mapping[str, Any]) -> CaseResult:
    """Return a case that a results file has."""
    measures = {
        measure: {side: tuple(values) for side, values in sides.items()}
        for measure, sides in data["measures"].items()
    }
    rest = {name: data.get(name, "") for name in ("measured_at", "commit", "error")}
    return CaseResult(title=data["title"], measures=measures, **rest)


def collect(rounds: Iterable[Mapping[str, Mapping[str, float]]]) -> Measures:
    """Return measures from rounds, each with the values of a side by measure."""
    result: dict[str, dict[str, list[float]]] = {}
    for sides in rounds:
        for side, values in sides.items():
            for measure, value in values.items():
                result.setdefault(measure, {}).setdefault(side, []).append(value)
    return {
        measure: {side: tuple(values) for side, values in sides.items()} for measure, sides in result.items()
    }
