"""The command `load`: one table from a source to a destination, by a program that it prints."""

from __future__ import annotations

import contextlib
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import typer
from rich.console import Console
from rich.syntax import Syntax

from penstock.cli.load_plan import DATASET_NAME, LoadOptions, LoadPlan, plan_load
from penstock.cli.output import print_json, print_text
from penstock.cli.pipeline_options import AsJson  # noqa: TC001 - typer reads the annotation
from penstock.redaction import remember_secret

if TYPE_CHECKING:
    from penstock.load.report import LoadInfo

_THEME = "ansi_dark"


class WriteDisposition(StrEnum):
    """The effect of new rows on those of the table."""

    APPEND = "append"
    REPLACE = "replace"
    MERGE = "merge"


def load(  # noqa: PLR0913 - the options of the command
    source: Annotated[
        str,
        typer.Argument(
            help="Files ('data/*.csv', s3://…), a database (postgresql://…) or an API (https://…)."
        ),
    ],
    destination: Annotated[
        str,
        typer.Argument(
            help="A folder or URL for Delta tables; iceberg:FOLDER; files:FOLDER for plain files."
        ),
    ],
    table: Annotated[
        str | None, typer.Option("--table", help="The table; by default named after the file or path.")
    ] = None,
    incremental: Annotated[
        str | None,
        typer.Option("--incremental", metavar="COLUMN", help="Load rows with a new value in this column."),
    ] = None,
    primary_key: Annotated[
        list[str] | None,
        typer.Option("--primary-key", metavar="COLUMN", help="The key of rows; repeat it for several."),
    ] = None,
    disposition: Annotated[
        WriteDisposition,
        typer.Option("--disposition", help="Add rows, replace all, or merge them by the key."),
    ] = WriteDisposition.APPEND,
    dataset: Annotated[
        str | None, typer.Option("--dataset", help=f"The dataset of the table; by default {DATASET_NAME}.")
    ] = None,
    pipeline_name: Annotated[
        str | None,
        typer.Option("--pipeline-name", help="By default named after table and destination."),
    ] = None,
    *,
    print_script: Annotated[
        bool, typer.Option("--print-script", help="Print the program and load nothing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Load one table from files, a database or an API, and print the Python program that does the same."""
    options = LoadOptions(
        table=table,
        incremental=incremental,
        primary_key=tuple(primary_key or ()),
        disposition=disposition.value,
        dataset=dataset,
        pipeline_name=pipeline_name,
    )
    plan = plan_load(source, destination, options)
    if print_script:
        _print_script(plan, as_json=as_json)
        return
    with contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext():
        info = run_plan(plan)
    if as_json:
        print_json(load_document(plan, info), unmasked_key="script")
    else:
        print_text(str(info))
        print_text("\nThe same in Python:\n")
        _print_script(plan, as_json=False)
    if info.has_failed_jobs:
        raise typer.Exit(1)


def run_plan(plan: LoadPlan) -> LoadInfo:
    """Run the program of a plan with its secrets, and return the result of its run."""
    for secret in plan.secrets.values():
        remember_secret(secret)
        if password := _password(secret):
            remember_secret(password)
    namespace: dict[str, Any] = dict(plan.secrets)
    program = compile(plan.executed_script, "<penstock load>", "exec")
    exec(program, namespace)  # noqa: S102 - the program that is printed; its values are literals
    info: LoadInfo = namespace["info"]
    return info


def load_document(plan: LoadPlan, info: LoadInfo) -> dict[str, Any]:
    """Return the result of a load as plain data."""
    return {
        "pipeline_name": plan.pipeline_name,
        "dataset_name": info.dataset_name,
        "location": info.location,
        "seconds": info.total_seconds,
        "load_ids": [package.load_id for package in info.packages],
        "rows": {table.table: table.rows for package in info.packages for table in package.tables},
        "has_failed_jobs": info.has_failed_jobs,
        "script": plan.script,
    }


def _print_script(plan: LoadPlan, *, as_json: bool) -> None:
    if as_json:
        print_json({"pipeline_name": plan.pipeline_name, "script": plan.script}, unmasked_key="script")
        return
    console = Console(highlight=False)
    if console.is_terminal:
        console.print(Syntax(plan.script, "python", theme=_THEME, background_color="default", word_wrap=True))
    else:
        # Whole lines, for a file.
        typer.echo(plan.script, nl=False)


def _password(text: str) -> str | None:
    try:
        return urlsplit(text).password
    except ValueError:
        return None
