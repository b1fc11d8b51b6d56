"""The commands that benchmarks print in their docstrings run from the root of a clone."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

from benchmarks.suite.plan import CASES

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
COMMAND = re.compile(r"uv run (?:dev/with-(?:jars|parts) )?python -m benchmarks\.(\w+)")
"""The runner of the suite, `benchmarks/__main__.py`, prints `make bench` instead."""


def programs() -> list[Path]:
    paths = [path for path in sorted(BENCHMARKS.glob("*.py")) if path.stem != "__main__"]
    return [path for path in paths if '__name__ == "__main__"' in path.read_text()]


def test_each_benchmark_prints_a_command_that_names_it() -> None:
    printed = {path.stem: ast.get_docstring(ast.parse(path.read_text())) or "" for path in programs()}

    wrong = {name for name, text in printed.items() if COMMAND.findall(text) != [name]}

    assert len(printed) > 10
    assert not wrong, f"say `uv run python -m benchmarks.<name>` once in the docstrings of {sorted(wrong)}"


def test_each_benchmark_is_imported_by_the_name_in_its_command() -> None:
    for path in programs():
        assert callable(importlib.import_module(f"benchmarks.{path.stem}").main)


def test_each_case_of_the_suite_is_a_module_and_each_module_a_case() -> None:
    modules = {path.stem for path in (BENCHMARKS / "cases").glob("*.py")} - {"__init__"}

    assert modules == set(CASES)
    assert all(callable(importlib.import_module(f"benchmarks.cases.{name}").run) for name in CASES)
