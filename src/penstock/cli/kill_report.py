"""The output of `penstock demo --kill`: the program, each kill with the run after it, and the row counts."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Final

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from penstock.cli.kill_demo import KILLS, ORDERS_PER_DAY, STAGES
from penstock.cli.syntax import highlight

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from penstock.cli.json_documents import KillDemoDocument
    from penstock.cli.kill_demo import InterruptedPackage, KillDemo, KilledLoad, ProgramRun, RowComparison
    from penstock.cli.program_steps import DurableStep

_INDENT: Final = 3
_FILES: Final = (
    (r"^load_package_state", "the first file of a new package"),
    (r"^data/extracted/", "extracted rows"),
    (r"^extracted\.json", "the mark of an extracted package"),
    (r"^data/normalized/", "normalized rows of a table"),
    (r"^new_jobs/", "a job for a table"),
    (r"schema", "the schema"),
    (r"^normalized\.json", "the mark of a normalized package"),
    (r"^slots/\d", "the manifest in its slot: the seal"),
    (r"^slots/last|^sealed\.json", "a note of the seal"),
    (r"^started_jobs/", "a job that begins"),
    (r"\.parquet$", "a data file of a table, before its commit"),
    (r"^\.results/", "the result of a job, after the commit of its table"),
    (r"^completed_jobs/", "a job that is done"),
    (r"^outcomes/", "the decision to complete the load"),
    (r"_dlt_pipeline_state|/state\.json", "the state with the cursor"),
    (r"_dlt_index", "the index of the loads"),
    (r"_dlt_loads", "the row that completes the load"),
    (r"^package_completed|\.finished/", "the end of the package"),
)
"""Patterns of the paths of steps, with what the file is."""
_PRINCIPLES: Final = {
    "package": "Rows are on storage, in a load package, before they count.",
    "seal": "A manifest takes a numbered slot: now the content is fixed.",
    "marked commit": "Each table gets one commit with this number, never a second.",
}


class KillReport:
    """Prints the kills as they happen."""

    def __init__(self, demo: KillDemo, console: Console) -> None:
        self._demo, self._console, self._title_number = demo, console, 0

    def print_beginning(self) -> None:
        """Print what is going to happen, and the program."""
        self._console.print(
            f"A program loads {ORDERS_PER_DAY} orders a day into Delta tables. It is killed at {KILLS} "
            "random steps, and run again after each, unchanged. This takes about half a minute, without "
            "Spark and network. "
            f"[bold]--seed {self._demo.seed}[/bold] repeats the steps."
        )
        self._print_title(f"The program: {self._demo.program_file}")
        program = highlight(self._demo.program.rstrip())
        self._console.print(Padding(program, (0, 0, 0, _INDENT), expand=False))

    def print_undisturbed(self, run: ProgramRun) -> None:
        """Print the run whose steps were recorded."""
        counts = [sum(step.stage == stage for step in run.steps) for stage in STAGES]
        self._print_title(f"Days 1 and 2 are loaded without a kill, the second one in {run.seconds:.1f} s")
        stages = ", ".join(f"{count} in {stage}" for stage, count in zip(STAGES, counts, strict=True))
        self._print_facts(("steps", Text(f"{len(run.steps)} changes of files: {stages}")))

    def print_kill(self, killed_load: KilledLoad) -> None:
        """Print where a load was killed, what was left, and what the next run did."""
        run, step, package = killed_load.killed_run, killed_load.step, killed_load.package
        self._print_title(f"Day {killed_load.day} is killed in {step.stage}")
        self._print_facts(
            ("killed", Text(f"process {run.process_id} by SIGKILL, after {run.seconds:.1f} s")),
            ("right before", Text.assemble(f"it {step.change} ", (shorten_path(step.path), "bold"))),
            ("", Text(f"({_file_text(step)})")),
            ("readers see", _visible_text(killed_load)),
            ("next run finds", _package_text(package)),
            (
                "and runs",
                Text(f"{', '.join(killed_load.resumed_steps)} in {killed_load.next_run.seconds:.1f} s"),
            ),
            ("rows", Text.assemble(*_joined([_row_text(check) for check in killed_load.rows]))),
        )

    def print_end(self, killed_loads: Sequence[KilledLoad], checks: Sequence[RowComparison]) -> None:
        """Print the count of all rows, why it is right, and how to look at the packages."""
        self._print_title("All rows, compared with the files value by value")
        table = Table()
        table.add_column("table")
        for column in ("in the files", "loaded", "missing", "too many"):
            table.add_column(column, justify="right")
        for check in checks:
            numbers = (check.expected, check.loaded, check.missing, check.unexpected)
            table.add_row(check.table, *(f"{number:,}" for number in numbers))
        self._console.print(Padding(table, (0, 0, 0, _INDENT), expand=False))
        self._console.print(Padding(_verdict(killed_loads, checks), (0, 0, 0, _INDENT)))
        if self._demo.missed:
            self._print_facts(
                ("not counted", Text(f"runs that ended before their kill: {self._demo.missed}"))
            )
        self._print_title("Why it works")
        self._print_facts(*((name, Text(text)) for name, text in _PRINCIPLES.items()))
        self._print_title("Look at the packages, then remove the folder")
        for command in commands(self._demo):
            self._console.print(Text(f"{' ' * _INDENT}{command}", style="bold"), soft_wrap=True)

    def _print_title(self, text: str) -> None:
        self._title_number += 1
        self._console.print(Text(f"\n{self._title_number:<{_INDENT}}{text}", style="bold"))

    def _print_facts(self, *facts: tuple[str, Text]) -> None:
        grid = Table.grid(padding=(0, 2))
        grid.add_column(style="dim", no_wrap=True, min_width=14)
        grid.add_column(overflow="fold")
        for name, text in facts:
            grid.add_row(name, text)
        self._console.print(Padding(grid, (0, 0, 0, _INDENT), expand=False))


def is_exactly_once(killed_loads: Sequence[KilledLoad], checks: Sequence[RowComparison]) -> bool:
    """Return whether loads were killed, and each row was loaded once."""
    return (
        bool(killed_loads)
        and all(killed_load.is_correct for killed_load in killed_loads)
        and all(check.is_exact for check in checks)
    )


def kill_document(
    demo: KillDemo, killed_loads: Sequence[KilledLoad], checks: Sequence[RowComparison]
) -> KillDemoDocument:
    """Return the kills and the counts as plain data."""
    return {
        "folder": str(demo.folder),
        "program": str(demo.program_file),
        "packages": str(demo.packages_folder),
        "seed": demo.seed,
        "exactly_once": is_exactly_once(killed_loads, checks),
        "kills": [
            {
                "day": killed_load.day,
                "step": killed_load.step,
                "process": killed_load.killed_run.process_id,
                "seconds": killed_load.killed_run.seconds,
                "visible_days": killed_load.visible_days,
                "package": killed_load.package,
                "resumed_steps": list(killed_load.resumed_steps),
                "resumed_seconds": killed_load.next_run.seconds,
                "tables": list(killed_load.rows),
            }
            for killed_load in killed_loads
        ],
        "missed_kills": demo.missed,
        "tables": list(checks),
    }


def commands(demo: KillDemo) -> tuple[str, ...]:
    """Return the commands that show the packages and remove the folder."""
    return (
        f"penstock packages {shlex.quote(str(demo.packages_folder))}",
        f"rm -r {shlex.quote(str(demo.folder))}",
    )


def shorten_path(path: str) -> str:
    """Return a path with the beginnings of its hashes and ids.

    >>> shorten_path("lake/shop/orders/5e02ccbbbea242dfb8c7ae1dd8fdf3ab/part-00000.parquet")
    'lake/shop/orders/5e02…/part-00000.parquet'
    """
    return re.sub(r"(?<![0-9a-z])([0-9a-z]{4})[0-9a-f]{8,}(?![0-9a-z])", r"\1…", path)


def _file_text(step: DurableStep) -> str:
    return next((text for pattern, text in _FILES if re.search(pattern, step.path)), "")


def _visible_text(killed_load: KilledLoad) -> Text:
    if killed_load.visible_days is None:
        return Text(f"a part of day {killed_load.day}", style="bold red")
    part = "all" if killed_load.visible_days == killed_load.day else "nothing"
    return Text(f"{part} of day {killed_load.day}, and the days before it")


def _package_text(package: InterruptedPackage) -> Text:
    match package.status:
        case "none":
            return Text("no package: it extracts the rows")
        case "incomplete":
            return Text(f"package {package.load_id}, incomplete: it discards it and extracts the rows again")
        case "extracted":
            return Text(f"package {package.load_id}, extracted: it normalizes and loads it")
        case "normalized":
            return Text(f"package {package.load_id}, normalized: it seals and loads it")
        case "sealed":
            jobs = f"{package.completed_jobs} of {package.jobs} jobs done"
            return Text(f"package {package.load_id}, sealed, {jobs}: it does the rest")
        case "loaded":
            return Text(f"package {package.load_id}, loaded: there is nothing to load again")


def _row_text(check: RowComparison) -> Text:
    if check.is_exact:
        return Text.assemble((f"{check.loaded:,}", "bold green"), f" of {check.expected:,} {check.table}")
    faults = f"{check.missing:,} missing, {check.unexpected:,} too many"
    return Text.assemble((faults, "bold red"), f" in {check.table}")


def _joined(texts: Sequence[Text]) -> list[Text]:
    return [part for text in texts for part in (Text(", "), text)][1:]


def _verdict(killed_loads: Sequence[KilledLoad], checks: Sequence[RowComparison]) -> Text:
    kills = "after one kill" if len(killed_loads) == 1 else f"after {len(killed_loads)} kills"
    if is_exactly_once(killed_loads, checks):
        return Text(f"Each row was loaded exactly once, {kills}.", style="bold green")
    return Text(f"Rows are missing, too many, or were seen in part, {kills}.", style="bold red")
