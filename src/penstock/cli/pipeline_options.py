"""Finds the pipeline that a command is about."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.output import print_text
from penstock.config import pipelines_folder
from penstock.errors import UsageError
from penstock.interfaces import Destination
from penstock.pipeline import late_imports
from penstock.pipeline.context import PipelineContext
from penstock.pipeline.factory import attach
from penstock.pipeline.last_target import LastTarget
from penstock.pipeline.local_pipeline import LocalPipeline, local_pipelines
from penstock.pipeline.workdir import WorkDir, check_name

if TYPE_CHECKING:
    from penstock.pipeline.pipeline import Pipeline
    from penstock.pipeline.target import Target

PipelinesDir = Annotated[
    Path | None, typer.Option("--pipelines-dir", help="The folder of the working folders of pipelines.")
]
DestinationName = Annotated[
    str | None, typer.Option("--destination", help="By default the one of the last run.")
]
DatasetName = Annotated[
    str | None, typer.Option("--dataset-name", help="By default the one of the last run.")
]
Location = Annotated[
    str | None,
    typer.Option("--location", help="Where the tables are (bucket_url); by default what the settings say."),
]
Staging = Annotated[
    str | None,
    typer.Option("--staging", help="The bucket of packages (staging=); by default that of the last run."),
]
AsJson = Annotated[bool, typer.Option("--json", help="JSON, one object a line.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineRef:
    """Which pipeline a command is about, as its options say it."""

    name: str
    pipelines_dir: Path | None = None
    destination: str | None = None
    dataset_name: str | None = None
    location: str | None = None
    staging: str | None = None

    @staticmethod
    def from_options(
        ctx: typer.Context,
        pipelines_dir: Path | None = None,
        destination: str | None = None,
        dataset_name: str | None = None,
        location: str | None = None,
        staging: str | None = None,
    ) -> PipelineRef:
        """What the options of a command say; the name of the pipeline is the word before the command."""
        return PipelineRef(
            name=str(ctx.parent.info_name) if ctx.parent is not None else "",
            pipelines_dir=pipelines_dir,
            destination=destination,
            dataset_name=dataset_name,
            location=location,
            staging=staging,
        )

    @property
    def folder(self) -> Path:
        """The folder of the working folders."""
        return (self.pipelines_dir or pipelines_folder()).absolute()

    def local_pipeline(self) -> LocalPipeline:
        """What this machine knows of the pipeline; an error says which ones there are."""
        local = LocalPipeline(self.folder / check_name(self.name))
        if not local.exists and self.destination is None:
            raise self._unknown_pipeline_error()
        return local

    def open(self) -> Pipeline:
        """The pipeline, here or at its destination."""
        local = self.local_pipeline()
        found = _attach_pipeline(self)
        if found.destination is None:
            print_text(
                f"note: nobody knows to which destination {self.name!r} loads; only packages that wait on "
                "this machine are seen; pass --destination",
                err=True,
            )
        last, problem = LastTarget.try_load(WorkDir(local.path))
        if problem is not None:
            print_text(f"note: {problem.message}; packages are looked for where the options say", err=True)
        _warn_if_other_location(found, last)
        return found

    def _unknown_pipeline_error(self) -> UsageError:
        known = [one.name for one in local_pipelines(self.folder)]
        one_of = f"use one of: {', '.join(known)}" if known else "there are no pipelines there"
        return UsageError(
            f"there is no pipeline {self.name!r} in {self.folder}",
            hint=f"{one_of}; name another folder with --pipelines-dir, or pass --destination and "
            "--dataset-name for one that ran elsewhere",
            pipeline_name=self.name,
            known=tuple(known),
        )


def location_of(pipeline: Pipeline) -> str | None:
    """Where the tables of a pipeline are, without credentials; None without a destination."""
    target = target_of(pipeline)
    return None if target is None else target.client().displayable_location()


def target_of(pipeline: Pipeline) -> Target | None:
    """Where a pipeline loads to, to look at; None without a destination."""
    if pipeline.destination is None:
        return None
    home = PipelineContext(
        pipeline_name=pipeline.pipeline_name,
        dataset_name=pipeline.dataset_name,
        workdir=WorkDir(pipeline.working_dir),
    )
    return late_imports.target.open_target(pipeline.destination, home, spark=None, staging=pipeline.staging)


def _attach_pipeline(ref: PipelineRef) -> Pipeline:
    given = None if ref.destination is None else _with_location(ref.destination, ref.location)
    found = attach(
        ref.name,
        pipelines_dir=ref.folder,
        destination=given,
        staging=None if ref.staging is None else _with_location("filesystem", ref.staging),
        dataset_name=ref.dataset_name,
    )
    if found.destination is not None:
        found.destination = _with_location(found.destination, ref.location)
    elif ref.location is not None:
        hint = "pass --destination too, such as --destination delta"
        raise UsageError(f"nobody knows what kind of tables {ref.location} holds", hint=hint)
    return found


def _with_location(destination: str | Destination, location: str | None) -> Destination:
    found = Destination.from_reference(destination)
    return found if location is None else found.with_arguments(bucket_url=location)


def _warn_if_other_location(pipeline: Pipeline, last_target: LastTarget) -> None:
    """A bucket that was an argument in a script is not known here, and another one would look empty."""
    there, here = last_target.location, location_of(pipeline)
    if there and here and there != here:
        print_text(f"note: the last run went to {there}, and this looks at {here}; pass --location", err=True)
