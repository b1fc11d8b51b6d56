"""The contract suite of destinations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from penstock.errors import UsageError
from penstock.testing.cases import CASES
from penstock.testing.scenarios import SCENARIOS, Scenario

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from penstock.testing.bench import Bench

GapKind = Literal["todo", "upstream", "never"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A case that a destination does not pass, and why."""

    kind: GapKind
    why: str
    raises: type[BaseException] = AssertionError
    says: str = ""


def gap(kind: GapKind, why: str, *, raises: type[BaseException] = AssertionError, says: str = "") -> Gap:
    """Declare a case that is not passed: yet (`todo`), because of others (`upstream`), or ever (`never`).

    >>> gap("never", "files have no history").kind
    'never'

    A case that fails with another error, or with one that does not say this, is no gap.
    """
    return Gap(kind=kind, why=why, raises=raises, says=says)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One requirement for destinations."""

    name: str
    promise: str
    check: Callable[[Bench], None]
    needs: tuple[str, ...] = ()
    """The write disposition and merge strategy of the case."""
    gap: Gap | None = None

    def run(self, bench: Bench) -> None:
        """Run the case; a closed gap is an error, and so is a disposition that is only partly refused."""
        place = bench.of_case(self.name)
        if self.gap is None:
            self._check(place)
            return
        try:
            self._check(place)
        except self.gap.raises as error:
            if self.gap.says not in str(error):
                raise
            return
        raise AssertionError(f"{self.name} is passed: take its gap away ({self.gap.why})")

    def _check(self, bench: Bench) -> None:
        missing = self._unsupported_need(bench)
        if missing is None:
            self.check(bench)
            return
        try:
            self.check(bench)
        except UsageError as error:
            if getattr(error, "write_disposition", None) == missing:
                return
            raise
        raise AssertionError(f"{missing!r} is not among the capabilities, and was not refused")

    def _unsupported_need(self, bench: Bench) -> str | None:
        capabilities = bench.destination.capabilities()
        supported = {*capabilities.supported_write_dispositions, *capabilities.supported_merge_strategies}
        return next((word for word in self.needs if word not in supported), None)


def destination_suite(gaps: Mapping[str, Gap] | None = None, *, only: Iterable[str] = ()) -> tuple[Case, ...]:
    """Return all cases, each to be run with a `Bench`.

    A destination without a disposition or strategy passes those cases by refusing it before anything runs.
    Known failures are listed in `gaps`. `only` selects cases by name.

    >>> names = [case.name for case in destination_suite()]
    >>> names[0], len(names) == len(set(names))
    ('append-adds-rows', True)
    """
    cases = [_scenario_case(case) for case in SCENARIOS]
    cases += [
        Case(name=case.name, promise=case.promise, check=case.check, needs=case.needs) for case in CASES
    ]
    names = {case.name for case in cases}
    unknown = [name for name in (*(gaps or {}), *only) if name not in names]
    if unknown:
        raise UsageError(f"unknown case {unknown[0]!r}", hint=f"use one of: {', '.join(sorted(names))}")
    chosen = [case for case in cases if not only or case.name in set(only)]
    return tuple(replace(case, gap=(gaps or {}).get(case.name)) for case in chosen)


def _scenario_case(scenario: Scenario) -> Case:
    def check(bench: Bench) -> None:
        for rows, load_hints in scenario.loads:
            hints: dict[str, Any] = {**scenario.hints, **load_hints}
            bench.load(rows, **hints)
        documents = bench.documents(*scenario.nested)
        assert documents == scenario.expected(), f"{scenario.promise}: {documents}"

    return Case(name=scenario.name, promise=scenario.promise, check=check, needs=scenario.needs)
