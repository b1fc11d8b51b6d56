"""Prints the seconds of each suite of the gate beside its budget: `python3 dev/gate.py FOLDER SECONDS`.

`FOLDER` holds `stages.tsv`, the name and seconds of each stage, and a JUnit report of each stage with tests.
Budgets are in `pyproject.toml`, under `tool.penstock.gate`. The duration of every test is written to
`durations.tsv`. Exit code 1 when a suite took more than three times its budget or has none.
"""

from __future__ import annotations

import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

ROOT: Final = Path(__file__).parents[1]
LIMIT: Final = 3
"""A suite may take this many times its budget: a starved machine needs twice as long."""
SLOWEST: Final = 10


@dataclass(frozen=True, slots=True)
class Duration:
    """The seconds of a test, with its fixtures."""

    name: str
    seconds: float

    @property
    def folder(self) -> str:
        """The folder below `tests`, or `src` for a doctest."""
        parts = self.name.split("/")
        return parts[1] if parts[0] == "tests" else parts[0]


@dataclass(frozen=True, slots=True)
class Suite:
    """A stage, or the tests of one folder within a stage that runs several."""

    name: str
    seconds: float
    tests: tuple[Duration, ...] = ()

    def slowest(self) -> list[Duration]:
        """The slowest tests."""
        return sorted(self.tests, key=lambda test: -test.seconds)[:SLOWEST]


def read_tests(report: Path) -> list[Duration]:
    """Read a JUnit report; a stage without tests has none."""
    if not report.exists():
        return []
    cases = ET.parse(report).iter("testcase")  # noqa: S314 - written by pytest in this run
    return [_duration(case) for case in cases if case.find("skipped") is None]


def _duration(case: ET.Element) -> Duration:
    return Duration(f"{case.get('file')}::{case.get('name')}", float(case.get("time", 0)))


def suites_of(stage: str, seconds: float, tests: Sequence[Duration]) -> list[Suite]:
    """Split a stage by the folders of its tests; the time outside of tests is a separate row."""
    folders = sorted({test.folder for test in tests})
    if len(folders) <= 1:
        return [Suite(stage, seconds, tuple(tests))]
    parts = [tuple(test for test in tests if test.folder == folder) for folder in folders]
    split = [
        Suite(f"{stage}: {folder}", sum(test.seconds for test in part), part)
        for folder, part in zip(folders, parts, strict=True)
    ]
    return [*split, Suite(stage, max(0.0, seconds - sum(suite.seconds for suite in split)))]


def report_name(stage: str) -> str:
    """Return the file name of a stage's JUnit report, as `.ci/run` chooses it."""
    return f"{stage.replace(' ', '-')}.xml"


def read_suites(folder: Path) -> list[Suite]:
    """Read all suites in the order in which their stages ended."""
    lines = (folder / "stages.tsv").read_text().splitlines()
    stages = [(name, float(seconds)) for name, seconds in (line.split("\t") for line in lines)]
    return [
        suite
        for stage, seconds in stages
        for suite in suites_of(stage, seconds, read_tests(folder / report_name(stage)))
    ]


def table(suites: Iterable[Suite], budgets: Mapping[str, int], total: float) -> str:
    """Write a line for each suite, and the total; parallel suites add up to more."""
    rows = [("suite", "tests", "seconds", "budget", "share")]
    for suite in suites:
        share = f"{suite.seconds / total:.0%}" if total else ""
        budget = str(budgets.get(suite.name, "none"))
        rows.append((suite.name, str(len(suite.tests) or ""), f"{suite.seconds:.0f}", budget, share))
    rows.append(("total", "", f"{total:.0f}", str(budgets["total"]), ""))
    width = max(len(row[0]) for row in rows)
    return "\n".join(f"{row[0]:<{width}}" + "".join(f"{cell:>9}" for cell in row[1:]) for row in rows)


def problems(suites: Iterable[Suite], budgets: Mapping[str, int]) -> list[str]:
    """Name the suites without a budget and those far over theirs, with their slowest tests."""
    lines: list[str] = []
    for suite in suites:
        budget = budgets.get(suite.name)
        if budget is None:
            lines.append(f"{suite.name} has no budget: add it to tool.penstock.gate in pyproject.toml")
        elif suite.seconds > LIMIT * budget:
            lines.append(
                f"{suite.name} took {suite.seconds:.0f} s, more than {LIMIT} times its budget of {budget} s"
            )
            lines += [f"  {test.seconds:8.1f} s  {test.name}" for test in suite.slowest()]
    return lines


def main(folder: Path, total: float) -> int:
    """Print the table and the path of the durations; return the exit code."""
    budgets = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["penstock"]["gate"]
    suites = read_suites(folder)
    durations = folder / "durations.tsv"
    tests = sorted((test for suite in suites for test in suite.tests), key=lambda test: -test.seconds)
    durations.write_text("".join(f"{test.seconds:.2f}\t{test.name}\n" for test in tests))
    print(f"\n{table(suites, budgets, total)}\n\nthe duration of every test: {durations}")
    wrong = problems(suites, budgets)
    print("\n".join(wrong), file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1]), float(sys.argv[2])))
