"""`penstock pipeline`: the commands for pipelines, and those that inspect them."""

from __future__ import annotations

import json
import webbrowser
from contextlib import suppress
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, assert_never

import typer
from rich.console import Console

from penstock.cli.command_groups import PIPELINE_NAME, CommandGroup, PipelineNameGroup
from penstock.cli.output import mask_secrets, print_json, print_text, printable
from penstock.cli.overview import overview_lines, pipeline_overview, pipeline_summary, pipelines_table
from penstock.cli.packages import print_failed_jobs, print_package, print_packages
from penstock.cli.pipeline_changes import (
    abort_packages,
    drop,
    drop_pending,
    fail_job,
    pending_ids,
    sync,
    undo,
)
from penstock.cli.pipeline_options import (
    AsJson,
    PipelineRef,
    PipelinesDir,
    pipeline_name,
    with_pipeline,
)
from penstock.cli.plan import apply, drop_plan, plans
from penstock.cli.replay import replay
from penstock.cli.report import pipeline_report
from penstock.cli.report_page import report_page
from penstock.cli.report_server import ReportServer
from penstock.cli.why import why
from penstock.config import pipelines_folder
from penstock.errors import PipelineNeverRan
from penstock.pipeline.local_pipeline import local_pipelines
from penstock.pipeline.workdir import write_text
from penstock.schema.box_diagram import to_box_diagram
from penstock.schema.document import to_yaml, with_data_tables_first

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.cli.json_documents import ReportServerDocument
    from penstock.package import LoadPackageInfo
    from penstock.pipeline.pipeline import Pipeline
    from penstock.schema import Schema

EXIT_FAILED_JOBS = 3
"""The exit code of a command that finds failed jobs."""
OpenPage = Annotated[bool, typer.Option("--open", help="Open the page in the browser.")]


pipelines = typer.Typer(cls=PipelineNameGroup, help="Inspect and repair pipelines.", no_args_is_help=True)
pipeline_commands = typer.Typer(
    cls=CommandGroup, help="The commands for one pipeline, by its name.", no_args_is_help=True
)
pipelines.add_typer(pipeline_commands, name=PIPELINE_NAME)


class SchemaFormat(StrEnum):
    """The format in which a schema is printed."""

    yaml = "yaml"
    json = "json"
    mermaid = "mermaid"
    dot = "dot"
    dbml = "dbml"
    boxes = "boxes"


@pipelines.command("list")
def list_pipelines(pipelines_dir: PipelinesDir = None, *, as_json: AsJson = False) -> None:
    """List the pipelines of this machine with the results of their last runs."""
    folder = (pipelines_dir or pipelines_folder()).absolute()
    lines = (pipeline_summary(local) for local in local_pipelines(folder))
    if as_json:
        for line in lines:
            print_json(line)
        return
    summaries = list(lines)
    if summaries:
        Console(highlight=False).print(pipelines_table(mask_secrets(summaries)))
    else:
        print_text(f"There are no pipelines in {folder}.")


@pipelines.command("show")
def show_pipelines(
    pipelines_dir: PipelinesDir = None,
    *,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; by default a free one.")] = 0,
    open_page: OpenPage = False,
    as_json: AsJson = False,
) -> None:
    """Serve the reports on all pipelines of this machine to its own browsers, until Ctrl-C."""
    folder = (pipelines_dir or pipelines_folder()).absolute()
    with ReportServer(folder, port) as server:
        if as_json:
            address: ReportServerDocument = {"url": server.url, "pipelines_dir": str(folder)}
            print_json(address)
        else:
            print_text(f"Serving the reports at {server.url} until Ctrl-C.")
        if open_page:
            webbrowser.open(server.url)
        with suppress(KeyboardInterrupt):
            server.serve_forever()


@pipeline_commands.command()
@with_pipeline
def info(ref: PipelineRef, *, as_json: AsJson = False) -> None:
    """Show the destination, the result of the last run and the pending packages."""
    overview = pipeline_overview(ref.open())
    if as_json:
        print_json(overview, unmasked=("schemas",))
    else:
        print_text("\n".join(overview_lines(overview)))


@pipeline_commands.command()
def trace(
    ctx: typer.Context,
    pipelines_dir: PipelinesDir = None,
    *,
    last: Annotated[int, typer.Option(min=1, help="The number of runs, newest first.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Show the steps of the last run on this machine, also of one that did not finish."""
    ref = PipelineRef(name=pipeline_name(ctx), pipelines_dir=pipelines_dir)
    runs = list(islice(ref.local_pipeline().runs(), last))
    if not runs:
        raise PipelineNeverRan(pipeline_name=ref.name, pipelines_dir=str(ref.folder))
    for number, run in enumerate(runs):
        if as_json:
            print_json(run.asdict())
        else:
            print_text(("\n" if number else "") + str(run))


@pipeline_commands.command()
@with_pipeline
def report(
    ref: PipelineRef,
    *,
    output: Annotated[
        Path | None, typer.Option("--output", help="The file of the page; by default NAME-report.html.")
    ] = None,
    open_page: OpenPage = False,
    with_spark: Annotated[
        bool, typer.Option("--spark", help="Start Spark for tables that cannot be read without it.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write a page on tables, schemas, runs, quarantine, packages and state; with --json print the data."""
    document = pipeline_report(ref.open(), with_spark=with_spark)
    if as_json:
        typer.echo(json.dumps(document.asdict()))
        return
    path = (output or Path(f"{ref.name}-report.html")).absolute()
    write_text(path, report_page(document))
    print_text(f"Wrote {path}.")
    for omission in document.omissions:
        print_text(f"note: left out {omission}", err=True)
    if open_page:
        webbrowser.open(path.as_uri())


@pipeline_commands.command()
@with_pipeline
def packages(ref: PipelineRef, *, as_json: AsJson = False) -> None:
    """List the pending packages and those of the last loads."""
    print_packages(_package_infos(ref.open()), as_json=as_json)


@pipeline_commands.command()
@with_pipeline
def package(
    ref: PipelineRef,
    load_id: Annotated[str, typer.Argument(help="The id of the package.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Show one package with its jobs."""
    print_package(ref.open().get_load_package_info(load_id), as_json=as_json)


@pipeline_commands.command("failed-jobs")
@with_pipeline
def failed_jobs(
    ref: PipelineRef,
    load_id: Annotated[str | None, typer.Argument(help="One package; all by default.")] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Show the jobs that failed or are to be retried, with their messages; the exit code is 3 for any."""
    pipeline = ref.open()
    infos = _package_infos(pipeline) if load_id is None else iter([pipeline.get_load_package_info(load_id)])
    if print_failed_jobs(infos, as_json=as_json):
        raise typer.Exit(EXIT_FAILED_JOBS)


@pipeline_commands.command()
@with_pipeline
def schema(
    ref: PipelineRef,
    schema_name: Annotated[str | None, typer.Argument(help="By default the default schema.")] = None,
    *,
    schema_format: Annotated[
        SchemaFormat, typer.Option("--format", help="The output format.")
    ] = SchemaFormat.yaml,
    as_json: AsJson = False,
) -> None:
    """Print a schema."""
    pipeline = ref.open()
    printed = pipeline.default_schema if schema_name is None else pipeline.schemas[schema_name]
    typer.echo(
        json.dumps(printed.to_dict()) if as_json else _render_schema(printed, schema_format).rstrip("\n")
    )


pipeline_commands.command()(with_pipeline(why))


@pipeline_commands.command()
@with_pipeline
def state(ref: PipelineRef, *, as_json: AsJson = False) -> None:
    """Print the state; values that may be secrets are masked."""
    values = ref.open().state
    if as_json:
        print_json(values)
    else:
        typer.echo(json.dumps(mask_secrets(values), indent=2, default=str))


pipeline_commands.command()(with_pipeline(plans))
pipeline_commands.command()(with_pipeline(apply))
pipeline_commands.command("drop-plan")(with_pipeline(drop_plan))
pipeline_commands.command()(with_pipeline(sync))
pipeline_commands.command("drop-pending")(with_pipeline(drop_pending))
pipeline_commands.command("drop-pending-packages", help="The same as drop-pending.")(
    with_pipeline(drop_pending)
)
pipeline_commands.command()(with_pipeline(drop))
pipeline_commands.command("abort-packages")(with_pipeline(abort_packages))
pipeline_commands.command()(with_pipeline(undo))
pipeline_commands.command()(with_pipeline(replay))


@pipeline_commands.command("load-package")
@with_pipeline
def load_package(
    ref: PipelineRef,
    load_id: Annotated[str | None, typer.Argument(help="By default the newest package.")] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Show one package with its jobs, by default the newest."""
    pipeline = ref.open()
    ids = [] if load_id else _all_ids(pipeline)
    if not load_id and not ids:
        print_text("There are no packages.", err=True)
        return
    print_package(pipeline.get_load_package_info(load_id or ids[-1]), as_json=as_json)


pipeline_commands.command("fail-job")(with_pipeline(fail_job))


def _package_infos(pipeline: Pipeline) -> Iterator[LoadPackageInfo]:
    return map(pipeline.get_load_package_info, _all_ids(pipeline))


def _all_ids(pipeline: Pipeline) -> list[str]:
    planned_ids = (load_id for plan in pipeline.list_plans() for load_id in plan.load_ids)
    return sorted({*pending_ids(pipeline), *planned_ids, *pipeline.list_retained_load_packages()})


def _render_schema(schema: Schema, schema_format: SchemaFormat) -> str:
    match schema_format:
        case SchemaFormat.yaml:
            return to_yaml(with_data_tables_first(schema.to_dict(remove_defaults=True)))
        case SchemaFormat.json:
            return schema.to_pretty_json()
        case SchemaFormat.mermaid:
            return schema.to_mermaid()
        case SchemaFormat.dot:
            return schema.to_dot()
        case SchemaFormat.dbml:
            return schema.to_dbml()
        case SchemaFormat.boxes:
            return printable(to_box_diagram(schema.stored, width=Console().width))
        case _:
            assert_never(schema_format)
