"""`penstock pipeline`: what one asks of pipelines at night."""

from __future__ import annotations

import json
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, assert_never

import typer
from rich.console import Console
from typer.core import TyperGroup

from penstock.cli.changing import drop_pending, sync
from penstock.cli.opening import AsJson, DatasetName, DestinationName, Location, PipelinesDir, Staging, Where
from penstock.cli.overview import line_of, overview_lines, overview_of, pipelines_table
from penstock.cli.packages import print_failed_jobs, print_package, print_packages
from penstock.cli.printing import print_json, say, shown
from penstock.config import pipelines_folder
from penstock.errors import PipelineNeverRan
from penstock.pipeline.local import local_pipelines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.package import LoadPackageInfo
    from penstock.pipeline.pipeline import Pipeline
    from penstock.schema import Schema

_NAME = "NAME"


class ByName(TyperGroup):
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
    cls=ByName, help="Look at pipelines, and help those that are stuck.", no_args_is_help=True
)
one = typer.Typer(help="The commands for one pipeline, by its name.", no_args_is_help=True)
pipelines.add_typer(one, name=_NAME)


class Form(StrEnum):
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
    lines = (line_of(one) for one in local_pipelines(folder))
    if as_json:
        for line in lines:
            print_json(line)
        return
    found = list(lines)
    if found:
        Console(highlight=False).print(pipelines_table(shown(found)))
    else:
        say(f"There are no pipelines in {folder}.")


@one.command()
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
    found = overview_of(Where.of(ctx, pipelines_dir, destination, dataset_name, location, staging).open())
    if as_json:
        print_json(found, counts="schemas")
    else:
        say("\n".join(overview_lines(found)))


@one.command()
def trace(
    ctx: typer.Context,
    pipelines_dir: PipelinesDir = None,
    *,
    last: Annotated[int, typer.Option(min=1, help="So many runs, the newest first.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Show what the last run on this machine came to, step by step, or that it did not finish."""
    where = Where.of(ctx, pipelines_dir)
    runs = list(islice(where.local().runs(), last))
    if not runs:
        raise PipelineNeverRan(pipeline_name=where.name, pipelines_dir=str(where.folder))
    for number, run in enumerate(runs):
        if as_json:
            print_json(run.asdict())
        else:
            say(("\n" if number else "") + str(run))


@one.command()
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
    found = Where.of(ctx, pipelines_dir, destination, dataset_name, location, staging).open()
    print_packages(_infos(found), as_json=as_json)


@one.command()
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
    found = Where.of(ctx, pipelines_dir, destination, dataset_name, location, staging).open()
    print_package(found.get_load_package_info(load_id), as_json=as_json)


@one.command("failed-jobs")
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
    found = Where.of(ctx, pipelines_dir, destination, dataset_name, location, staging).open()
    infos = _infos(found) if load_id is None else iter([found.get_load_package_info(load_id)])
    print_failed_jobs(infos, as_json=as_json)


@one.command()
def schema(  # noqa: PLR0913 - the options
    ctx: typer.Context,
    schema_name: Annotated[str | None, typer.Argument(help="The default schema by default.")] = None,
    pipelines_dir: PipelinesDir = None,
    destination: DestinationName = None,
    dataset_name: DatasetName = None,
    location: Location = None,
    staging: Staging = None,
    *,
    form: Annotated[Form, typer.Option("--format", help="In what it is printed.")] = Form.yaml,
    as_json: AsJson = False,
) -> None:
    """Print a schema."""
    found = Where.of(ctx, pipelines_dir, destination, dataset_name, location, staging).open()
    asked = found.default_schema if schema_name is None else found.schemas[schema_name]
    typer.echo(json.dumps(asked.to_dict()) if as_json else _drawn(asked, form).rstrip("\n"))


@one.command()
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
    found = Where.of(ctx, pipelines_dir, destination, dataset_name, location, staging).open().state
    if as_json:
        print_json(found)
    else:
        typer.echo(json.dumps(shown(found), indent=2, default=str))


one.command("sync")(sync)
one.command("drop-pending")(drop_pending)


def _infos(found: Pipeline) -> Iterator[LoadPackageInfo]:
    ids = {
        *found.list_extracted_load_packages(),
        *found.list_normalized_load_packages(),
        *found.list_completed_load_packages(),
    }
    return map(found.get_load_package_info, sorted(ids))


def _drawn(schema: Schema, form: Form) -> str:
    match form:
        case Form.yaml:
            return schema.to_pretty_yaml()
        case Form.json:
            return schema.to_pretty_json()
        case Form.mermaid:
            return schema.to_mermaid()
        case Form.dot:
            return schema.to_dot()
        case Form.dbml:
            return schema.to_dbml()
        case _:
            assert_never(form)
