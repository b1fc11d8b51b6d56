"""Finds the pipeline that a command is about."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.printing import say
from penstock.config import pipelines_folder
from penstock.errors import UsageError
from penstock.interfaces import Destination
from penstock.pipeline.factory import attach, pipeline
from penstock.pipeline.home import Home
from penstock.pipeline.local import LocalPipeline, local_pipelines
from penstock.pipeline.stages import open_target
from penstock.pipeline.workdir import WorkDir, check_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from penstock.pipeline.pipeline import Pipeline

PipelinesDir = Annotated[
    Path | None, typer.Option("--pipelines-dir", help="The folder of the working folders of pipelines.")
]
DestinationName = Annotated[
    str | None, typer.Option("--destination", help="By default the one of the last load.")
]
DatasetName = Annotated[
    str | None, typer.Option("--dataset-name", help="By default the one of the last load.")
]
Location = Annotated[
    str | None,
    typer.Option("--location", help="Where the tables are (bucket_url); by default what the settings say."),
]
AsJson = Annotated[bool, typer.Option("--json", help="JSON, one object a line.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """Which pipeline a command is about, as its options say it."""

    name: str
    pipelines_dir: Path | None = None
    destination: str | None = None
    dataset_name: str | None = None
    location: str | None = None

    @staticmethod
    def of(
        ctx: typer.Context,
        pipelines_dir: Path | None = None,
        destination: str | None = None,
        dataset_name: str | None = None,
        location: str | None = None,
    ) -> Where:
        """What the options of a command say; the name of the pipeline is the word before the command."""
        return Where(
            name=str(ctx.parent.info_name) if ctx.parent is not None else "",
            pipelines_dir=pipelines_dir,
            destination=destination,
            dataset_name=dataset_name,
            location=location,
        )

    @property
    def folder(self) -> Path:
        """The folder of the working folders."""
        return (self.pipelines_dir or pipelines_folder()).absolute()

    def local(self) -> LocalPipeline:
        """What this machine knows of the pipeline; an error says which ones there are."""
        local = LocalPipeline(self.folder / check_name(self.name))
        if not local.exists and self.destination is None:
            raise self._unknown()
        return local

    def open(self) -> Pipeline:
        """The pipeline, here or at its destination."""
        local = self.local()
        last = _last_place(local)
        has_loaded = local.state is not None
        asked = self if has_loaded else self._with_default(last)
        # One that is here and has loaded nothing cannot be attached to.
        found = _made(asked, pipeline if local.exists and not has_loaded else attach)
        _warn_if_elsewhere(found, last)
        return found

    def _with_default(self, last: Mapping[str, Any]) -> Where:
        """A pipeline that has loaded nothing has no state; where it went to stands in its trace."""
        return replace(
            self,
            destination=self.destination or last.get("destination_name") or None,
            dataset_name=self.dataset_name or last.get("dataset_name") or None,
        )

    def _unknown(self) -> UsageError:
        known = [one.name for one in local_pipelines(self.folder)]
        one_of = f"use one of: {', '.join(known)}" if known else "there are no pipelines there"
        return UsageError(
            f"there is no pipeline {self.name!r} in {self.folder}",
            hint=f"{one_of}; name another folder with --pipelines-dir, or pass --destination and "
            "--dataset-name for one that ran elsewhere",
            pipeline_name=self.name,
            known=tuple(known),
        )


def location_of(found: Pipeline) -> str | None:
    """Where the tables of a pipeline are, without credentials; None without a destination."""
    if found.destination is None:
        return None
    home = Home(
        pipeline_name=found.pipeline_name, dataset_name=found.dataset_name, workdir=WorkDir(found.working_dir)
    )
    target = open_target(found.destination, home, spark=None)
    return target.client().displayable_location()


def _made(where: Where, make: Callable[..., Pipeline]) -> Pipeline:
    given = None if where.destination is None else _placed(where.destination, where.location)
    found = make(where.name, pipelines_dir=where.folder, destination=given, dataset_name=where.dataset_name)
    if found.destination is not None:
        found.destination = _placed(found.destination, where.location)
    elif where.location is not None:
        hint = "pass --destination too, such as --destination delta"
        raise UsageError(f"nobody knows what kind of tables {where.location} holds", hint=hint)
    return found


def _placed(said: str | Destination, location: str | None) -> Destination:
    found = Destination.from_reference(said)
    return (
        found if location is None else replace(found, arguments={**found.arguments, "bucket_url": location})
    )


def _last_place(local: LocalPipeline) -> Mapping[str, Any]:
    """Where the last run was to load to; empty where it did not come so far."""
    trace = local.last_trace
    info = trace.last_load_info if trace is not None else None
    return info.asdict() if info is not None else {}


def _warn_if_elsewhere(found: Pipeline, last: Mapping[str, Any]) -> None:
    """A bucket that was an argument in a script is not known here, and another one would look empty."""
    there, here = last.get("location"), location_of(found)
    if there and here and there != here:
        say(f"note: the last run went to {there}, and this looks at {here}; pass --location", err=True)
