"""`penstock pipeline`: what one asks of pipelines at night."""

from __future__ import annotations

import json
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, assert_never

import typer
from rich.console import Console
from typer.core import TyperGroup

from penstock.cli.mutations import drop_pending, sync
from penstock.cli.output import mask_secrets, print_json, print_text
from penstock.cli.overview import overview_lines, pipeline_overview, pipeline_summary, pipelines_table
from penstock.cli.packages import print_failed_jobs, print_package, print_packages
from penstock.cli.pipeline_options import (
    AsJson,
    DatasetName,
    DestinationName,
    Location,
    PipelineRef,
    PipelinesDir,
    Staging,
)
from penstock.config import pipelines_folder
from penstock.errors import PipelineNeverRan
from penstock.pipeline.local_pipeline import local_pipelines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.package import LoadPackageInfo
    from penstock.pipeline.pipeline import Pipeline
    from penstock.schema import Schema

_NAME = "NAME"


class PipelineNameGroup(TyperGroup):
    """A group of which every word that is no command of its own is the name of a pipeline."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """`list`, or the commands of a pipeline."""
        return super().get_command(ctx, cmd_name) or self.commands[_NAME]

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """A pipeline may be called `list`: then a command of a pipeline follows."""
        one: Any = self.commands[_NAME]
        if args[1:] and args[1] in one.commands:
            return args[0], one, args[1:]
        return super().resolve_command(ctx, args)


pipelines = typer.Typer(
    cls=PipelineNameGroup, help="Look at pipelines, and help those that are stuck.", no_args_is_help=True
)
pipeline_commands = typer.Typer(help="The commands for one pipeline, by its name.", no_args_is_help=True)
pipelines.add_typer(pipeline_commands, name=_NAME)


class SchemaFormat(StrEnum):
    """In what a schema is printed."""

    yaml = "yaml"
    json = "json"
    mermaid = "mermaid"
    dot = "dot"
    dbml = "dbml"


@pipelines.command("list")
def list_pipelines(pipelines_dir: PipelinesDir = None, *, as_json: AsJson = False) -> None:
    """List the pipelines of this machine, with how their last runs ended."""
    folder = (pipelines_dir or pipelines_folder()).absolute()
    lines = (pipeline_summary(one) for one in local_pipelines(folder))
    if as_json:
        for line in lines:
            print_json(line)
        return
    found = list(lines)
    if found:
        Console(highlight=False).print(pipelines_table(mask_secrets(found)))
    else:
        print_text(f"There are no pipelines in {folder}.")


@pipeline_commands.command()
def info(
    ctx: typer.Context,
    pipelines_dir: PipelinesDir = None,
    destination: DestinationName = None,
    dataset_name: DatasetName = None,
    location: Location = None,
    staging: Staging = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Show where the pipeline goes, how its last run ended, and what waits."""
    found = pipeline_overview(
        PipelineRef.from_options(ctx, pipelines_dir, destination, dataset_name, location, staging).open()
    )
    if as_json:
        print_json(found, unmasked_key="schemas")
    else:
        print_text("\n".join(overview_lines(found)))


@pipeline_commands.command()
def trace(
    ctx: typer.Context,
    pipelines_dir: PipelinesDir = None,
    *,
    last: Annotated[int, typer.Option(min=1, help="So many runs, the newest first.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Show what the last run on this machine came to, step by step, or that it did not finish."""
    where = PipelineRef.from_options(ctx, pipelines_dir)
    runs = list(islice(where.local_pipeline().runs(), last))
    if not runs:
        raise PipelineNeverRan(pipeline_name=where.name, pipelines_dir=str(where.folder))
    for number, run in enumerate(runs):
        if as_json:
            print_json(run.asdict())
        else:
            print_text(("\n" if number else "") + str(run))


@pipeline_commands.command()
def packages(
    ctx: typer.Context,
    pipelines_dir: PipelinesDir = None,
    destination: DestinationName = None,
    dataset_name: DatasetName = None,
    location: Location = None,
    staging: Staging = None,
    *,
    as_json: AsJson = False,
) -> None:
    """List the packages: those that wait, and those of the last loads."""
    found = PipelineRef.from_options(ctx, pipelines_dir, destination, dataset_name, location, staging).open()
    print_packages(_package_infos(found), as_json=as_json)


@pipeline_commands.command()
def package(
    ctx: typer.Context,
    load_id: Annotated[str, typer.Argument(help="The id of the package.")],
    pipelines_dir: PipelinesDir = None,
    destination: DestinationName = None,
    dataset_name: DatasetName = None,
    location: Location = None,
    staging: Staging = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Show one package with its jobs."""
    found = PipelineRef.from_options(ctx, pipelines_dir, destination, dataset_name, location, staging).open()
    print_package(found.get_load_package_info(load_id), as_json=as_json)


@pipeline_commands.command("failed-jobs")
def failed_jobs(
    ctx: typer.Context,
    load_id: Annotated[str | None, typer.Argument(help="One package; all by default.")] = None,
    pipelines_dir: PipelinesDir = None,
    destination: DestinationName = None,
    dataset_name: DatasetName = None,
    location: Location = None,
    staging: Staging = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Show the jobs that failed or wait to be tried again, with their messages."""
    found = PipelineRef.from_options(ctx, pipelines_dir, destination, dataset_name, location, staging).open()
    infos = _package_infos(found) if load_id is None else iter([found.get_load_package_info(load_id)])
    print_failed_jobs(infos, as_json=as_json)


@pipeline_commands.command()
def schema(  # noqa: PLR0913 - the options
    ctx: typer.Context,
    schema_name: Annotated[str | None, typer.Argument(help="The default schema by default.")] = None,
    pipelines_dir: PipelinesDir = None,
    destination: DestinationName = None,
    dataset_name: DatasetName = None,
    location: Location = None,
    staging: Staging = None,
    *,
    schema_format: Annotated[
        SchemaFormat, typer.Option("--format", help="In what it is printed.")
    ] = SchemaFormat.yaml,
    as_json: AsJson = False,
) -> None:
    """Print a schema."""
    found = PipelineRef.from_options(ctx, pipelines_dir, destination, dataset_name, location, staging).open()
    asked = found.default_schema if schema_name is None else found.schemas[schema_name]
    typer.echo(json.dumps(asked.to_dict()) if as_json else _render_schema(asked, schema_format).rstrip("\n"))


@pipeline_commands.command()
def state(
    ctx: typer.Context,
    pipelines_dir: PipelinesDir = None,
    destination: DestinationName = None,
    dataset_name: DatasetName = None,
    location: Location = None,
    staging: Staging = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Print the state; values that may be secrets are masked."""
    found = (
        PipelineRef.from_options(ctx, pipelines_dir, destination, dataset_name, location, staging)
        .open()
        .state
    )
    if as_json:
        print_json(found)
    else:
        typer.echo(json.dumps(mask_secrets(found), indent=2, default=str))


pipeline_commands.command("sync")(sync)
pipeline_commands.command("drop-pending")(drop_pending)


def _package_infos(pipeline: Pipeline) -> Iterator[LoadPackageInfo]:
    ids = {
        *pipeline.list_extracted_load_packages(),
        *pipeline.list_normalized_load_packages(),
        *pipeline.list_completed_load_packages(),
    }
    return map(pipeline.get_load_package_info, sorted(ids))


def _render_schema(schema: Schema, schema_format: SchemaFormat) -> str:
    match schema_format:
        case SchemaFormat.yaml:
            return schema.to_pretty_yaml()
        case SchemaFormat.json:
            return schema.to_pretty_json()
        case SchemaFormat.mermaid:
            return schema.to_mermaid()
        case SchemaFormat.dot:
            return schema.to_dot()
        case SchemaFormat.dbml:
            return schema.to_dbml()
        case _:
            assert_never(schema_format)
