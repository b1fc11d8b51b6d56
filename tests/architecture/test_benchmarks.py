"""The commands that benchmarks print in their docstrings run from the root of a clone."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
COMMAND = re.compile(r"uv run (?:dev/with-(?:jars|parts) )?python -m benchmarks\.(\w+)")


def programs() -> list[Path]:
    return [path for path in sorted(BENCHMARKS.glob("*.py")) if '__name__ == "__main__"' in path.read_text()]


def test_each_benchmark_prints_a_command_that_names_it() -> None:
    printed = {path.stem: ast.get_docstring(ast.parse(path.read_text())) or "" for path in programs()}

    wrong = {name for name, text in printed.items() if COMMAND.findall(text) != [name]}

    assert len(printed) > 10
    assert not wrong, f"say `uv run python -m benchmarks.<name>` once in the docstrings of {sorted(wrong)}"


def test_each_benchmark_is_imported_by_the_name_in_its_command() -> None:
    for path in programs():
        assert callable(importlib.import_module(f"benchmarks.{path.stem}").main)
