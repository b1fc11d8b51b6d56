"""The cases of the suite, and the size in which they run."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.suite.results import CaseResult

Size = Literal["small", "full"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The size of a run, its folder, and the rounds that are counted."""

    size: Size
    rounds: int
    folder: Path

    def choose(self, small: int, full: int) -> int:
        """Return the number for this size."""
        return small if self.size == "small" else full


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A module of `benchmarks.cases`: the names of its results, and what it needs."""

    small: tuple[str, ...]
    full: tuple[str, ...] = ()
    jars: tuple[str, ...] = ("delta",)
    parts: tuple[str, ...] = ()

    def results(self, size: Size) -> tuple[str, ...]:
        """Return the names of the results in a size."""
        return self.full or self.small if size == "full" else self.small


CASES: Final = {
    "imports": Case(small=("imports",), jars=()),
    "readme": Case(small=("readme",)),
    "append": Case(small=("append",)),
    "iceberg": Case(small=("iceberg",), jars=("iceberg",)),
    "tables": Case(small=("tables-20",), full=("tables-150", "tables-500")),
    "postgres": Case(small=("postgres",), jars=("delta", "postgres"), parts=("postgres",)),
    "duckdb": Case(small=("duckdb",)),
    "nested": Case(small=("nested-known", "nested-learning")),
    "scaling": Case(small=("scaling",)),
    "s3": Case(small=("s3",), jars=("delta", "s3"), parts=("s3",)),
}


def run_case(name: str, plan: Plan) -> dict[str, CaseResult]:
    """Run a case in this process; return its results by name."""
    module = importlib.import_module(f"benchmarks.cases.{name}")
    result: dict[str, CaseResult] = module.run(plan)
    return result
