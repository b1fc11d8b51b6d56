"""The command `conns`: tests of the connections in the settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from penstock.cli.output import VERDICT_MARKS, print_json, print_text, printable
from penstock.cli.pipeline_options import AsJson  # noqa: TC001 - typer reads the annotation
from penstock.cli.settings import settings_file_lines
from penstock.config import read_settings
from penstock.config.folders import settings_folders

if TYPE_CHECKING:
    from penstock.cli.connection_checks import ConnectionResult


def conns(
    name: Annotated[
        str | None,
        typer.Argument(help="A setting, a section, or the name of a source or destination; by default all."),
    ] = None,
    timeout: Annotated[
        float, typer.Option("--timeout", min=0.1, help="The seconds after which a test fails.")
    ] = 5.0,
    *,
    as_json: AsJson = False,
) -> None:
    """Test the connections in the settings: log in, list, write a probe; exit with 1 if one fails."""
    # Both need pyspark, and all other commands work without it.
    from penstock.cli.connection_checks import check_connections  # noqa: PLC0415 - see above
    from penstock.cli.connections import find_connections, select_connections  # noqa: PLC0415 - see above

    settings = read_settings()
    connections = find_connections(settings)
    if settings.extra_providers:
        providers = ", ".join(provider.name for provider in settings.extra_providers)
        print_text(f"note: connections that only {providers} has are not found", err=True)
    if name is not None:
        connections = tuple(select_connections(connections, name))
    if not connections:
        files = settings_file_lines(settings_folders())
        lines = ["No connections are configured: no source or destination has an address.", *files]
        print_text("\n".join(lines), err=as_json)
        return
    results = check_connections(connections, timeout=timeout)
    console = Console(highlight=False)
    for result in results:
        if as_json:
            print_json(result)
        else:
            _print_result(console, result)
    raise typer.Exit(code=1 if any(result.verdict == "failure" for result in results) else 0)


def _print_result(console: Console, result: ConnectionResult) -> None:
    console.print(VERDICT_MARKS[result.verdict], end=" ")
    heading = f"{result.name} ({result.address})" if result.address else result.name
    fix = [f"fix: {result.fix}"] if result.fix else []
    lines = "\n".join([heading, result.fact, *fix]).replace("\n", "\n     ")
    console.print(printable(lines), markup=False, soft_wrap=True)
