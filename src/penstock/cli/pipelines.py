"""`penstock pipeline`: the commands that inspect and repair pipelines."""

from __future__ import annotations

import json
import sys
import webbrowser
from contextlib import suppress
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, assert_never

import typer
from rich.console import Console

from penstock.cli.command_groups import PIPELINE_NAME, CommandGroup, PipelineNameGroup
from penstock.cli.output import mask_secrets, print_json, print_text, printable
from penstock.cli.overview import overview_lines, pipeline_overview, pipeline_summary, pipelines_table
from penstock.cli.packages import print_failed_jobs, print_package, print_packages, size_of
from penstock.cli.pipeline_options import (
    AsJson,
    PipelineRef,
    PipelinesDir,
    location_of,
    pipeline_name,
    target_of,
    with_pipeline,
)
from penstock.cli.report import pipeline_report
from penstock.cli.report_page import report_page
from penstock.cli.report_server import ReportServer
from penstock.cli.why import why
from penstock.config import pipelines_folder
from penstock.errors import PipelineNeverRan, UsageError
from penstock.pipeline import late_imports
from penstock.pipeline.local_pipeline import LocalPipeline, local_pipelines
from penstock.pipeline.workdir import write_text
from penstock.schema.box_diagram import to_box_diagram
from penstock.schema.document import to_yaml, with_data_tables_first

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from penstock.package import LoadPackageInfo
    from penstock.pipeline.drop_resources import ResourceDrop
    from penstock.pipeline.pipeline import Pipeline
    from penstock.schema import Schema

EXIT_NOT_CONFIRMED = 2
"""The exit code of a command that needs a confirmation and has no terminal."""
EXIT_FAILED_JOBS = 3
"""The exit code of a command that finds failed jobs."""
_AFTER_DROP_TEXT = "The next run extracts the dropped data again and starts work items from scratch."
OpenPage = Annotated[bool, typer.Option("--open", help="Open the page in the browser.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]


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
            print_json({"url": server.url, "pipelines_dir": str(folder)})
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
        print_json(overview, unmasked_key="schemas")
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


@pipeline_commands.command()
@with_pipeline
def sync(
    ref: PipelineRef,
    *,
    forget: Annotated[
        bool,
        typer.Option("--forget", help="Delete local state and schemas if the dataset does not exist."),
    ] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Restore state and schemas from the destination; ask before local ones are replaced."""
    pipeline = ref.open()
    effect = _sync_effect(pipeline, forget=forget)
    if effect is not None:
        confirm([f"The state and the schemas in {pipeline.working_dir} are {effect}."], yes=yes)
    pipeline.sync_destination()
    version, schemas = pipeline.state.get("_state_version"), list(pipeline.schemas)
    if as_json:
        print_json({"pipeline_name": pipeline.pipeline_name, "state_version": version, "schemas": schemas})
    else:
        print_text(f"The state has version {version} and the schemas {', '.join(schemas)}.")


@pipeline_commands.command("drop-pending-packages", help="The same as drop-pending.")
@pipeline_commands.command("drop-pending")
@with_pipeline
def drop_pending(
    ref: PipelineRef,
    *,
    keep_partial: Annotated[bool, typer.Option("--keep-partial", help="Keep a started load.")] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Drop the pending packages and roll back a load that has started; ask first."""
    pipeline = ref.open()
    pending = _pending_ids(pipeline)
    if pending:
        effects = [
            _drop_effect(pipeline.get_load_package_info(load_id), keep_partial=keep_partial)
            for load_id in pending
        ]
        confirm([*effects, _AFTER_DROP_TEXT], yes=yes)
        pipeline.drop_pending_packages(with_partial_loads=not keep_partial)
    remaining = _pending_ids(pipeline) if pending else []
    dropped = [load_id for load_id in pending if load_id not in remaining]
    if as_json:
        print_json({"pipeline_name": pipeline.pipeline_name, "dropped": dropped, "kept": remaining})
    elif pending:
        print_text(f"Dropped {len(dropped)}, kept {len(remaining)}.")
    else:
        print_text("No packages are pending.")


@pipeline_commands.command()
@with_pipeline
def drop(
    ref: PipelineRef,
    resources: Annotated[
        list[str] | None, typer.Argument(help="Names of resources, or patterns such as re:^repo_.")
    ] = None,
    *,
    drop_all: Annotated[bool, typer.Option("--drop-all", help="Drop all resources of the schema.")] = False,
    state_paths: Annotated[
        list[str] | None, typer.Option("--state-paths", help="A key of the state of the source; repeatable.")
    ] = None,
    schema_name: Annotated[
        str | None, typer.Option("--schema", help="By default the default schema.")
    ] = None,
    state_only: Annotated[bool, typer.Option("--state-only", help="Keep the tables.")] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Drop the tables and the state of resources, which the next run starts from scratch; ask first."""
    pipeline, names = ref.open(), resources or ()
    options: dict[str, Any] = {
        "schema_name": schema_name,
        "drop_all": drop_all,
        "state_paths": state_paths or (),
        "state_only": state_only,
    }
    plan = pipeline.drop_resources(*names, **options, dry_run=True)
    for pattern in plan.unmatched:
        print_text(f"note: nothing belongs to {pattern!r}", err=True)
    if not plan.is_empty:
        if pipeline.has_pending_data:
            raise UsageError(
                f"packages of {pipeline.pipeline_name!r} are pending: {', '.join(_pending_ids(pipeline))}",
                hint="run the pipeline, or drop them with abort-packages, then drop the resources",
            )
        confirm(_resource_drop_effects(plan), yes=yes)
        pipeline.drop_resources(*names, **options)
    if as_json:
        print_json({"pipeline_name": pipeline.pipeline_name, **plan.asdict()})
    else:
        print_text("Nothing is to be dropped." if plan.is_empty else "Dropped.")


@pipeline_commands.command("abort-packages")
@with_pipeline
def abort_packages(
    ref: PipelineRef,
    load_id: Annotated[
        str | None, typer.Argument(help="Abort this package and newer ones; all by default.")
    ] = None,
    *,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Abort the pending packages and roll back a load that has started; ask first."""
    pipeline = ref.open()
    plan = pipeline.abort_packages(load_id, dry_run=True)
    if plan is not None:
        affected = [pending for pending in _pending_ids(pipeline) if pending >= (load_id or "")]
        infos = map(pipeline.get_load_package_info, affected)
        confirm([*(_drop_effect(info, keep_partial=False) for info in infos), _AFTER_DROP_TEXT], yes=yes)
        plan = pipeline.abort_packages(load_id)
    if as_json:
        print_json({"pipeline_name": pipeline.pipeline_name, "aborted": plan})
    else:
        print_text("No packages are pending." if plan is None else f"Aborted {len(affected)}.")


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


@pipeline_commands.command("fail-job")
@with_pipeline
def fail_job(
    ref: PipelineRef,
    load_id: Annotated[str, typer.Argument(help="The id of the package.")],
    job: Annotated[str, typer.Argument(help="The file name of the job.")],
    *,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Fail a job that waits for another try: the next load leaves out its chain of tables; ask first."""
    pipeline = ref.open()
    confirm([f"Job {job} fails. The next load leaves out its table, with nested and parent tables."], yes=yes)
    path = pipeline.fail_pending_job(load_id, job)
    if as_json:
        print_json({"pipeline_name": pipeline.pipeline_name, "load_id": load_id, "path": path})
    else:
        print_text(f"Moved to {path}.")


def confirm(effects: Sequence[str], *, yes: bool) -> None:
    """Print the effects and exit unless the user confirms; without a terminal, only `yes` confirms."""
    for line in effects:
        print_text(line, err=True)
    if yes:
        return
    if not sys.stdin.isatty():
        print_text("penstock: a confirmation is needed, and there is no terminal: pass --yes", err=True)
        raise typer.Exit(code=EXIT_NOT_CONFIRMED)
    if not typer.confirm("Continue?", err=True):
        print_text("Nothing was changed.", err=True)
        raise typer.Exit(code=1)


def _package_infos(pipeline: Pipeline) -> Iterator[LoadPackageInfo]:
    return map(pipeline.get_load_package_info, _all_ids(pipeline))


def _all_ids(pipeline: Pipeline) -> list[str]:
    return sorted({*_pending_ids(pipeline), *pipeline.list_retained_load_packages()})


def _pending_ids(pipeline: Pipeline) -> list[str]:
    return sorted({*pipeline.list_extracted_load_packages(), *pipeline.list_normalized_load_packages()})


def _sync_effect(pipeline: Pipeline, *, forget: bool) -> str | None:
    """Return what a sync does to the local state; None if it replaces nothing.

    A missing dataset may be a deleted one or a mistyped location: without `forget` it is an error.
    """
    target = target_of(pipeline)
    if target is None:
        return None
    dataset = f"{target.destination.destination_name} dataset {pipeline.dataset_name!r}"
    outcome = late_imports.sync.preview_sync(target)
    if outcome == "restored" and LocalPipeline(Path(pipeline.working_dir)).state is not None:
        return f"replaced by those of {dataset}, which are newer"
    if outcome != "forgotten":
        return None
    if not forget:
        raise UsageError(
            f"{dataset} does not exist at {location_of(pipeline)}, but this machine has a state of it",
            hint="correct --location, --destination or --dataset-name; if the dataset was deleted, --forget "
            "deletes the state and the schemas on this machine",
        )
    return f"deleted, because {dataset} does not exist"


def _resource_drop_effects(plan: ResourceDrop) -> list[str]:
    """Return a line for each kind of thing that is dropped."""
    effects = {
        "Tables that are dropped": plan.tables,
        "Resources whose state is deleted": plan.resource_states,
        "State keys that are deleted": plan.state_paths,
    }
    lines = [f"{effect}: {', '.join(names)}" for effect, names in effects.items() if names]
    return [f"Schema {plan.schema_name}, resources: {', '.join(plan.resources) or 'none'}", *lines]


def _drop_effect(info: LoadPackageInfo, *, keep_partial: bool) -> str:
    """Return one line about what dropping does to a package."""
    facts = (info.state, info.schema_name and f"schema {info.schema_name}", size_of(info))
    package = f"Package {info.load_id} ({', '.join(filter(None, facts))})"
    if not _has_started(info):
        return f"{package} is deleted."
    if keep_partial:
        return f"{package} has started to load and is kept."
    return f"{package} has started to load: it is aborted, and its changes to tables are rolled back."


def _has_started(info: LoadPackageInfo) -> bool:
    """Return whether tables may have rows of the package: only a sealed load is applied to them."""
    attempted = (
        state != "new_jobs" or job.job_file_info.retry_count
        for state, jobs in info.jobs.items()
        for job in jobs
    )
    return info.sequence is not None and any(attempted)


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
