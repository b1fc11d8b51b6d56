"""The suite: penstock beside bare Spark and dlt, with budgets.

    make bench [SIZE=small] [ONLY="append s3"] [ROUNDS=3] [CHECK=1] [INTO=FILE] [BEFORE=FILE]
    uv run --no-sync python -m benchmarks --publish FILE

Each case runs its sides in turns, in one run on one machine, and takes medians. Results are written as JSON
into a file whose name is printed (`--into`; cases that it has already are replaced), with a Markdown table
and charts beside it. `--check` fails when a ratio exceeds its budget in `benchmarks/budgets.toml` by more
than the tolerance. `--before` adds the results of another file to the table. `--publish` writes the table
and the charts of a file into the documentation, and measures nothing. Jars, the environment of dlt, Postgres
and the S3 gateway are installed and started when a case needs them; `make down` stops them.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Final

import psutil
from dev.parts import jars, lifecycle
from dev.parts.environments import DLT, dlt_benchmarks_python
from dev.parts.folders import find_folders

from benchmarks.suite.budgets import BUDGETS, missed_budgets, read_budgets
from benchmarks.suite.dlt_process import PYTHON
from benchmarks.suite.plan import CASES, Size
from benchmarks.suite.report import publish, to_markdown, write_charts
from benchmarks.suite.results import CaseResult, Results, case_from_dict

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT: Final = Path(__file__).parents[1]
ROUNDS: Final = {"small": 3, "full": 5}
INTO: Final = Path("bench-results")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the chosen cases; return 1 if one failed, or with --check if a budget is exceeded."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=str(__doc__).splitlines()[0])
    parser.add_argument("--size", choices=("small", "full"), default="small")
    parser.add_argument("--only", nargs="+", choices=tuple(CASES), default=tuple(CASES), metavar="CASE")
    parser.add_argument("--rounds", type=int, help="rounds that count: 3, or 5 in full size")
    parser.add_argument("--into", type=Path, help="the file of results")
    parser.add_argument("--before", type=Path, help="a file of earlier results to show beside")
    parser.add_argument("--check", action="store_true")
    parser.add_argument(
        "--publish", type=Path, metavar="FILE", help="write a file of results into the documentation"
    )
    options = parser.parse_args(arguments)
    if options.publish:
        publish(Results.from_json(options.publish.read_text()))
        return 0
    into: Path = options.into or INTO / f"{options.size}.json"
    into.parent.mkdir(parents=True, exist_ok=True)
    results = Results(size=options.size, machine=machine(), cases={})
    if into.exists() and (older := Results.from_json(into.read_text())).size == options.size:
        results = results.with_cases(older.cases)
    rounds = options.rounds or ROUNDS[options.size]
    for name in options.only:
        results = results.with_cases(run_apart(name, options.size, rounds))
        into.write_text(results.to_json())
    budgets = read_budgets(BUDGETS.read_text(), options.size)
    before = Results.from_json(options.before.read_text()) if options.before else None
    table = to_markdown(results, budgets, before=before)
    into.with_suffix(".md").write_text(table)
    charts = write_charts(results, budgets, into.parent)
    print(f"\n{table}\nresults: {into}, {into.with_suffix('.md')}, {', '.join(map(str, charts))}")
    measured = {result for name in options.only for result in CASES[name].results(options.size)}
    missed = [item for item in missed_budgets(results, budgets) if item.budget.case in measured]
    print("\n".join(["over budget:", *map(str, missed)]) if missed else "within all budgets")
    is_failed = any(results.cases[name].error for name in measured)
    return int(is_failed or (options.check and bool(missed)))


def run_apart(name: str, size: Size, rounds: int) -> dict[str, CaseResult]:
    """Run a case in a new process with what it needs; a failure is its result."""
    print(f"# {name}, {size}, {rounds} rounds", flush=True)
    case = CASES[name]
    environment = {**os.environ, **needs_of(case.jars, case.parts)}
    with tempfile.TemporaryDirectory(prefix=f"penstock-bench-{name}-") as folder:
        command = {"case": name, "size": size, "rounds": rounds, "folder": folder}
        program = [sys.executable, "-m", "benchmarks.suite.child", json.dumps(command)]
        done = subprocess.run(program, env=environment, check=False)
        output = Path(folder) / "results.json"
        if done.returncode == 0 and output.exists():
            measured = {item: case_from_dict(data) for item, data in json.loads(output.read_text()).items()}
        else:
            error = f"ended with {done.returncode}"
            measured = {item: CaseResult(title=name, error=error) for item in case.results(size)}
    moment, source = f"{datetime.now(UTC):%Y-%m-%d %H:%M}", commit()
    return {item: replace(result, measured_at=moment, commit=source) for item, result in measured.items()}


def needs_of(groups: Sequence[str], parts: Sequence[str]) -> dict[str, str]:
    """Install and start what a case needs; return the variables that name it."""
    folders = find_folders()
    result = {PYTHON: str(dlt_benchmarks_python(folders)), **jars.ensure_jars(folders, groups)}
    if parts:
        lifecycle.up(folders, parts)
        result |= json.loads((folders.run / "parts.json").read_text())
    return result


def machine() -> dict[str, str]:
    """Return the machine and the versions."""
    java = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False).stderr
    return {
        "processors": str(os.cpu_count()),
        "memory": f"{psutil.virtual_memory().total / 2**30:.0f} GiB",
        "system": platform.system(),
        "Python": platform.python_version(),
        "Java": java.split('"')[1] if '"' in java else "unknown",
        "Spark": version("pyspark"),
        "Delta": jars.GROUPS["delta"].rpartition(":")[2],
        "Iceberg": jars.GROUPS["iceberg"].rpartition(":")[2],
        "dlt": DLT[0].rpartition("=")[2],
    }


def commit() -> str:
    """Return the last commit of the package, with a mark if its files differ from it."""
    log, status = ("log", "-1", "--format=%h", "--", "src"), ("status", "--porcelain", "--", "src")
    last, changes = (
        subprocess.run(
            ["git", *command], capture_output=True, text=True, check=False, cwd=ROOT
        ).stdout.strip()
        for command in (log, status)
    )
    return f"{last} with changes" if changes else last


if __name__ == "__main__":
    sys.exit(main())
