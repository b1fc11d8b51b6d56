"""`penstock config`: the places of settings, and the values that are used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.command_groups import CommandGroup
from penstock.cli.output import print_json, print_text
from penstock.cli.pipeline_options import AsJson  # noqa: TC001 - typer reads the annotation
from penstock.config import explain, pipelines_folder
from penstock.config.explain import Explanation
from penstock.config.folders import SETTINGS_FILES, settings_folders
from penstock.errors import suggestion
from penstock.extract.settings import ExtractConfiguration
from penstock.interfaces.destination import SECTION, destination_names, find_destination
from penstock.load.settings import LoaderConfiguration
from penstock.normalize.settings import NormalizeConfiguration
from penstock.pipeline.configuration import PipelineConfiguration
from penstock.pipeline.local_pipeline import local_pipelines
from penstock.pipeline.settings import RunConfiguration

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from penstock.cli.json_documents import SettingDocument
    from penstock.config import BaseConfiguration
    from penstock.config.explain import ExplainedValue

_SPECS: Mapping[str, type[BaseConfiguration]] = {
    "extract": ExtractConfiguration,
    "load": LoaderConfiguration,
    "normalize": NormalizeConfiguration,
    "pipelines": PipelineConfiguration,
    "run": RunConfiguration,
}
"""The settings of sections that belong to no source or destination."""

settings_commands = typer.Typer(cls=CommandGroup, help="Explain settings.", no_args_is_help=True)


@settings_commands.callback()
def config() -> None:
    """Explain settings."""


@settings_commands.command("explain")
def explain_setting(
    key: Annotated[
        str,
        typer.Argument(
            help="A setting or a section: destination.delta.bucket_url, sources.hub.token, normalize."
        ),
    ],
    pipeline: Annotated[
        str | None, typer.Option("--pipeline", help="Also search the settings of this pipeline.")
    ] = None,
    section: Annotated[
        str, typer.Option("--section", help="The section of the key, such as sources.hub.")
    ] = "",
    *,
    as_json: AsJson = False,
) -> None:
    """Show the places of a setting in the order of the search, and its value; of a section all values."""
    path = tuple(part for part in (*section.split("."), *key.split(".")) if part)
    if pipeline is not None:
        _warn_if_unknown(pipeline, [local.name for local in local_pipelines(pipelines_folder())], "pipeline")
    values = explain_path(path, pipeline_name=pipeline).values
    if as_json:
        for value in values:
            print_json(_value_document(value))
    else:
        print_text("\n".join([*_text_lines(values), "", *settings_file_lines(settings_folders())]))


def explain_path(path: tuple[str, ...], *, pipeline_name: str | None) -> Explanation:
    """Explain a setting by its path, or all settings of a section that penstock knows.

    >>> explain_path(("normalize", "quarantine"), pipeline_name=None)["quarantine"].origin
    'default'
    """
    spec, sections = _spec_of(path)
    if spec is None:
        return explain(".".join(path), pipeline_name=pipeline_name)
    explanation = explain(spec, sections=sections, pipeline_name=pipeline_name)
    field = ".".join(path[len(sections) :])
    if not field:
        return explanation
    values = tuple(value for value in explanation.values if f"{value.field}.".startswith(f"{field}."))
    if not values:
        _warn_if_unknown(field, [value.field for value in explanation.values], f"setting of {sections[-1]}")
        return explain(".".join(path), pipeline_name=pipeline_name)
    return Explanation(values=values)


def _spec_of(path: tuple[str, ...]) -> tuple[type[BaseConfiguration] | None, tuple[str, ...]]:
    """Return the settings of the section that a path begins with, and the section."""
    match path:
        case (first, name, *_) if first == SECTION and name in destination_names():
            return find_destination(name).spec(), (first, name)
        case (first, name, *_) if first == SECTION:
            _warn_if_unknown(name, destination_names(), "destination")
            return None, ()
        case ("pipelines", name, _, *_):
            return PipelineConfiguration, ("pipelines", name)
        case (first, *_) if first in _SPECS:
            return _SPECS[first], (first,)
        case _:
            return None, ()


def _warn_if_unknown(name: str, names: Iterable[str], kind: str) -> None:
    listed = list(names)
    if name not in listed:
        print_text(f"note: unknown {kind} {name!r}: {suggestion(name, listed)}", err=True)


def _text_lines(values: tuple[ExplainedValue, ...]) -> list[str]:
    """Return one setting with its places, or a line for each of several."""
    if len(values) == 1:
        return str(values[0]).splitlines()
    return [str(value).splitlines()[0] for value in values]


def settings_file_lines(folders: Iterable[Path]) -> Iterator[str]:
    """Return where the files with settings are; later ones win."""
    for name in SETTINGS_FILES:
        paths = [folder / name for folder in folders]
        existing = [str(path) for path in paths if path.is_file()]
        yield f"{name}: {', '.join(existing) or 'not in ' + ', '.join(str(path.parent) for path in paths)}"


def _value_document(value: ExplainedValue) -> SettingDocument:
    return {
        "field": value.field,
        "origin": value.origin,
        "value": value.text,
        "location": None if value.location is None else str(value.location),
        "places": [
            {
                "provider": place.location.provider,
                "name": place.location.key,
                "has_value": place.has_value,
                "is_used": place.used,
                "is_misplaced": place.misplaced,
            }
            for place in value.locations
        ],
    }
