"""The command `load`: one table from a source to a destination, by a program that it prints."""

from __future__ import annotations

from contextlib import nullcontext
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import typer
from rich.console import Console

from penstock.cli.load_plan import DATASET_NAME, LoadOptions, LoadProgram, plan_load
from penstock.cli.output import print_json, print_text, print_to_stderr
from penstock.cli.pipeline_options import AsJson  # noqa: TC001 - typer reads the annotation
from penstock.cli.syntax import highlight
from penstock.redaction import remember_secret

if TYPE_CHECKING:
    from penstock.cli.json_documents import LoadDocument, RunDocument, ScriptDocument
    from penstock.load.report import LoadInfo


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
            help="A folder or URL for Delta tables; iceberg:FOLDER; files:FOLDER for plain files; "
            "duckdb:///FILE; postgresql://…."
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
    with print_to_stderr() if as_json else nullcontext():
        info = run_plan(plan)
    if as_json:
        document: LoadDocument = {**run_document(info, seconds=info.total_seconds), "script": plan.script}
        print_json(document, unmasked=("rows", "script"))
    else:
        print_text(str(info))
        print_text("\nThe same in Python:\n")
        _print_script(plan, as_json=False)
    if info.has_failed_jobs:
        raise typer.Exit(1)


def run_plan(plan: LoadProgram) -> LoadInfo:
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


def run_document(info: LoadInfo, *, seconds: float | None) -> RunDocument:
    """Return the result of a run as plain data."""
    return {
        "pipeline_name": info.pipeline_name,
        "dataset_name": info.dataset_name,
        "location": info.location,
        "seconds": seconds,
        "load_ids": info.loads_ids,
        "rows": _row_counts(info),
        "has_failed_jobs": info.has_failed_jobs,
    }


def _row_counts(info: LoadInfo) -> dict[str, int | None]:
    counts: dict[str, int | None] = {}
    for table in (table for package in info.packages for table in package.tables):
        before = counts.get(table.table, 0)
        counts[table.table] = None if table.rows is None or before is None else before + table.rows
    return counts


def _print_script(plan: LoadProgram, *, as_json: bool) -> None:
    if as_json:
        document: ScriptDocument = {"pipeline_name": plan.pipeline_name, "script": plan.script}
        print_json(document, unmasked=("script",))
        return
    console = Console(highlight=False)
    if console.is_terminal:
        console.print(highlight(plan.script))
    else:
        # Whole lines, for a file.
        typer.echo(plan.script, nl=False)


def _password(text: str) -> str | None:
    try:
        return urlsplit(text).password
    except ValueError:
        return None
