"""The commands `demo`, `doctor`, `run` and `packages`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.console import Console

from penstock.cli.adopt import adopt
from penstock.cli.command_groups import CommandGroup
from penstock.cli.components import destinations, sources
from penstock.cli.conns import conns
from penstock.cli.demo import Demo, DemoLoad
from penstock.cli.demo_report import DemoReport, demo_document
from penstock.cli.doctor import Finding, examine
from penstock.cli.init import init
from penstock.cli.kill_demo import KILLS, KillDemo, KilledLoad, random_seed
from penstock.cli.kill_report import KillReport, is_exactly_once, kill_document
from penstock.cli.load import load
from penstock.cli.output import VERDICT_MARKS, print_json
from penstock.cli.packages import print_package, print_packages
from penstock.cli.pipeline_changes import undo
from penstock.cli.pipeline_options import AsJson, with_named_pipeline
from penstock.cli.pipelines import pipelines
from penstock.cli.plan import plan
from penstock.cli.program import run_program, run_source
from penstock.cli.replay import replay
from penstock.cli.settings import settings_commands
from penstock.config import read_settings
from penstock.errors import UsageError
from penstock.package import Packages
from penstock.package.storage import absolute_path
from penstock.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.package import LoadPackageInfo, TLoadPackageStatus

_DEMO_FOLDER: Final = "penstock_demo"
_KILL_DEMO_FOLDER: Final = "penstock_kill_demo"

app = typer.Typer(
    cls=CommandGroup,
    help="Declarative data ingestion on Spark.",
    no_args_is_help=True,
    # The values of variables may be secrets.
    pretty_exceptions_show_locals=False,
)
app.add_typer(pipelines, name="pipeline")
app.add_typer(settings_commands, name="config")


def _print_version(wanted: bool) -> None:  # noqa: FBT001 - the signature of an option's callback
    if wanted:
        typer.echo(f"penstock {__version__}")
        raise typer.Exit


@app.callback()
def penstock(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Declarative data ingestion on Spark."""
    del version  # its callback has printed it


@app.command()
def demo(
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder",
            help="The new folder for the files of the example.",
            show_default=f"{_DEMO_FOLDER}, with --kill {_KILL_DEMO_FOLDER}",
        ),
    ] = None,
    *,
    kill: Annotated[
        bool, typer.Option("--kill", help="Kill loads at random steps, resume them, and count the rows.")
    ] = False,
    seed: Annotated[
        int | None, typer.Option(help="The seed of an earlier demo with --kill, to repeat its steps.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Load an example twice into local tables, and show each step; it needs no Spark and no network.

    With --kill, processes that load are killed; the exit code is 1 if a row is not loaded exactly once.
    """
    if kill:
        folder = folder or Path(_KILL_DEMO_FOLDER)
        _kill_demo(KillDemo(folder=folder, seed=random_seed() if seed is None else seed), as_json=as_json)
        return
    if seed is not None:
        raise typer.BadParameter("it chooses the steps of --kill, which is missing", param_hint="--seed")
    example = Demo(folder=folder or Path(_DEMO_FOLDER))
    report = DemoReport(example, Console(highlight=False))
    example.write_files()
    if not as_json:
        report.print_beginning()
    pipeline, loads = example.pipeline(), list[DemoLoad]()
    for result in example.run_loads(pipeline):
        loads.append(result)
        if not as_json:
            report.print_load(result)
    if as_json:
        print_json(demo_document(example, pipeline, loads))
    else:
        report.print_end(pipeline, loads)


def _kill_demo(example: KillDemo, *, as_json: bool) -> None:
    console = Console(highlight=False, quiet=as_json)
    report = KillReport(example, console)
    example.write_program()
    report.print_beginning()
    killed_loads = list[KilledLoad]()
    with console.status("loading, killing, loading again"):
        report.print_undisturbed(example.load_undisturbed())
        for killed_load in example.kill_loads_at(example.choose_steps(KILLS)):
            killed_loads.append(killed_load)
            report.print_kill(killed_load)
    checks = example.check_rows()
    report.print_end(killed_loads, checks)
    if as_json:
        print_json(kill_document(example, killed_loads, checks))
    raise typer.Exit(code=0 if is_exactly_once(killed_loads, checks) else 1)


app.command()(load)
app.command()(init)
app.command()(conns)


@app.command()
def doctor(
    location: Annotated[
        str | None, typer.Option(help="The location of the tables; by default that of the settings.")
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Check Java, Spark, the jars, a Delta table and the storage, and show a fix for each failure."""
    console = Console(highlight=False)
    failed = False
    for finding in examine(read_settings(), location=location):
        failed |= finding.verdict == "failure"
        if as_json:
            print_json(finding)
        else:
            _print_finding(console, finding)
    if not as_json:
        console.print("\nNot ready: fix the failures above." if failed else "\nReady.")
    raise typer.Exit(code=1 if failed else 0)


@app.command(context_settings={"ignore_unknown_options": True})
def run(
    program: Annotated[
        str, typer.Argument(help="A Python file, or a source or resource of a module: shop:orders.")
    ],
    arguments: Annotated[list[str] | None, typer.Argument(help="The arguments of the program.")] = None,
    destination: Annotated[
        str | None,
        typer.Option("--destination", help="Of a source: a folder, a URL, or a name from the settings."),
    ] = None,
    dataset: Annotated[str | None, typer.Option("--dataset", help="Of a source: the dataset.")] = None,
    pipeline_name: Annotated[
        str | None, typer.Option("--pipeline-name", help="Of a source: by default its name.")
    ] = None,
    *,
    dlt_as_penstock: Annotated[
        bool, typer.Option("--as-dlt", help="Resolve `import dlt` to penstock in the program.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run a program or a source; exit with 1 after an error, or where the last load has failed jobs.

    With --json, the result of the last load is printed, and what the program prints is on the standard error.
    """
    if Path(program).is_file():
        if destination or dataset or pipeline_name:
            raise UsageError(
                "--destination, --dataset and --pipeline-name belong to MODULE:SOURCE",
                hint="put -- before the options of a program",
            )
    elif ":" in program:
        code = run_source(
            program,
            destination=destination,
            dataset_name=dataset,
            pipeline_name=pipeline_name,
            as_json=as_json,
        )
        raise typer.Exit(code=code)
    else:
        hint = "name a Python file, or a source as MODULE:SOURCE"
        raise UsageError(f"program {program!r} does not exist", hint=hint)
    code = run_program(Path(program), arguments or [], dlt_as_penstock=dlt_as_penstock, as_json=as_json)
    raise typer.Exit(code=code)


app.command()(plan)


@app.command()
def packages(
    location: Annotated[str, typer.Argument(help="The folder of a pipeline's packages.")],
    load_id: Annotated[str | None, typer.Argument(help="One package, with its jobs.")] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Show the load packages in a folder with their states and jobs."""
    folder_packages = Packages.at(absolute_path(location))
    if load_id is not None:
        print_package(folder_packages.normalized_packages.get_load_package_info(load_id), as_json=as_json)
    else:
        print_packages(_package_infos(folder_packages), as_json=as_json)


app.command()(sources)
app.command()(destinations)
app.command()(with_named_pipeline(adopt))
app.command()(with_named_pipeline(undo))
app.command()(with_named_pipeline(replay))


def _package_infos(packages: Packages) -> Iterator[LoadPackageInfo]:
    statuses: tuple[TLoadPackageStatus, ...] = ("new", "extracted", "normalized", "planned", "loaded")
    load_ids = [package.load_id for status in statuses for package in packages.with_status(status)]
    for load_id in sorted(load_ids):
        yield packages.normalized_packages.get_load_package_info(load_id)


def _print_finding(console: Console, finding: Finding) -> None:
    console.print(f"{VERDICT_MARKS[finding.verdict]} {finding.check:<12}", end=" ")
    console.print(finding.fact, markup=False, soft_wrap=True)
    for line in finding.fix.splitlines():
        console.print(f"     fix:         {line}", markup=False, soft_wrap=True)
