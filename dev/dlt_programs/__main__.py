"""Runs the programs with both tools, and prints a table of their tables and rows.

Programs that read a database need a started one: put `dev/with-parts` before the command, after `make up`.
"""

from __future__ import annotations

import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from dev.dlt_programs.catalog import PROGRAMS, Program
from dev.dlt_programs.comparison import Content, differences, read_content
from dev.dlt_programs.runs import Checkouts, ProgramFailed, run_with_dlt, run_with_penstock
from dev.parts import jars
from dev.parts.environments import dlt_programs_python
from dev.parts.folders import find_folders
from dev.parts.postgres import find_programs

_LINE = "{:<21} {:<31} {:>4} {:>6} {:>8} {:>8}  {:<5} {}"


@dataclass(frozen=True)
class Outcome:
    """The outcome of a program: what its runs left, and the differences."""

    program: Program
    runs: list[tuple[Content, Content]]
    lines: list[str]

    @property
    def line(self) -> str:
        """The line of the table."""
        last = self.runs[-1] if self.runs else None
        return _LINE.format(
            self.program.name,
            self.program.kind,
            len(self.runs) or "-",
            len(last[0].rows) if last else "-",
            last[0].row_count if last else "-",
            last[1].row_count if last else "-",
            "NO" if self.lines else "yes",
            self.program.imports,
        )


def compare(program: Program, checkouts: Checkouts, python: str, env: dict[str, str]) -> Outcome:
    """Run a program with both tools and compare the datasets after each of its runs."""
    try:
        expected = run_with_dlt(program, checkouts, python, env)
        actual = run_with_penstock(program, checkouts, env)
    except ProgramFailed as error:
        return Outcome(program, [], [str(error)])
    turns = sorted(folder.name for folder in expected.iterdir())
    runs = [(read_content(expected / turn), read_content(actual / turn)) for turn in turns]
    with_state = not program.state_difference
    lines = [
        f"{turn}: {line}"
        for turn, (before, after) in zip(turns, runs, strict=True)
        for line in differences(before, after, with_state=with_state)
    ]
    return Outcome(program, runs, lines)


def environment(programs: list[Program]) -> dict[str, str]:
    """Return the variables for the processes: jars, and the database if a program reads it."""
    env = {"SPARK__JARS": ":".join(jars.ensure_jars(find_folders(), ("delta", "postgres")).values())}
    if any(program.needs_database for program in programs):
        env["PROGRAMS_POSTGRES"] = os.environ["PENSTOCK_TEST_POSTGRES"]
        env["PROGRAMS_PSQL"] = str(find_programs() / "psql")
    return env


def main(verified_sources: str, dlt: str, *names: str) -> int:
    """Print the table; return 1 if a program failed or differs."""
    programs = [program for program in PROGRAMS if not names or program.name in names]
    if unknown := set(names) - {program.name for program in programs}:
        print(f"unknown programs: {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    work = Path(os.environ.get("PROGRAMS_WORK") or tempfile.mkdtemp(prefix="dlt-programs-"))
    checkouts = Checkouts(Path(verified_sources).resolve(), Path(dlt).resolve(), work.resolve())
    env = environment(programs)
    python = os.environ.get("PENSTOCK_TEST_DLT_PYTHON") or str(dlt_programs_python(find_folders()))
    print(
        _LINE.format("program", "kind", "runs", "tables", "dlt", "penstock", "equal", "imports"), flush=True
    )
    outcomes = []
    for program in programs:
        outcome = compare(program, checkouts, python, env)
        outcomes.append(outcome)
        print(outcome.line, flush=True)
        if program.state_difference:
            print(f"    state not compared: {program.state_difference}")
        for line in outcome.lines[:20]:
            print(f"    {line}")
    equal = sum(not outcome.lines for outcome in outcomes)
    untouched = sum(not outcome.lines and outcome.program.imports == "untouched" for outcome in outcomes)
    print(
        f"{equal} of {len(outcomes)} are equal, {untouched} of them with `import dlt` untouched; work: {work}"
    )
    return 0 if equal == len(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
