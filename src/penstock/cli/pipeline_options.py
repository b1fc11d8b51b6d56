"""The options that identify a pipeline, and the pipeline that they identify."""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.output import print_text
from penstock.config import pipelines_folder
from penstock.errors import UsageError, suggestion
from penstock.interfaces import Destination
from penstock.pipeline import late_imports
from penstock.pipeline.context import PipelineContext
from penstock.pipeline.factory import attach
from penstock.pipeline.factory import pipeline as create_pipeline
from penstock.pipeline.last_target import LastTarget
from penstock.pipeline.local_pipeline import LocalPipeline, local_pipelines
from penstock.pipeline.workdir import WorkDir, check_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.pipeline.pipeline import Pipeline
    from penstock.pipeline.target import Target

PipelinesDir = Annotated[
    Path | None, typer.Option("--pipelines-dir", help="The folder with the working folders of pipelines.")
]
AsJson = Annotated[bool, typer.Option("--json", help="JSON, one object per line.")]

_OPTIONS: dict[str, Any] = {
    "pipelines_dir": PipelinesDir,
    "destination": Annotated[
        str | None, typer.Option("--destination", help="By default that of the last run.")
    ],
    "dataset_name": Annotated[
        str | None, typer.Option("--dataset-name", help="By default that of the last run.")
    ],
    "location": Annotated[
        str | None,
        typer.Option("--location", help="The location of the tables (bucket_url); by default from settings."),
    ],
    "staging": Annotated[
        str | None,
        typer.Option("--staging", help="The bucket of packages (staging=); by default that of the last run."),
    ],
}
_NAME_OPTION = Annotated[str, typer.Option("--pipeline", metavar="NAME", help="The name of the pipeline.")]


def with_pipeline(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that identify a pipeline to a command; it gets them as one `PipelineRef`, first."""
    context = Parameter("ctx", Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    return _with_options(command, context, lambda values: pipeline_name(values.pop("ctx")))


def with_named_pipeline(command: Callable[..., None]) -> Callable[..., None]:
    """Add the same options, and the name of the pipeline as another one."""
    name = Parameter("pipeline", Parameter.KEYWORD_ONLY, annotation=_NAME_OPTION)
    return _with_options(command, name, lambda values: values.pop("pipeline"))


def _with_options(
    command: Callable[..., None], name: Parameter, take_name: Callable[[dict[str, Any]], str]
) -> Callable[..., None]:
    _, *own = inspect.signature(command, eval_str=True).parameters.values()
    shared = [
        Parameter(option, Parameter.POSITIONAL_OR_KEYWORD, default=None, annotation=annotation)
        for option, annotation in _OPTIONS.items()
    ]
    is_option = name.kind is Parameter.KEYWORD_ONLY
    parameters = [
        *(() if is_option else (name,)),
        *(parameter for parameter in own if parameter.kind is not Parameter.KEYWORD_ONLY),
        *shared,
        *((name,) if is_option else ()),
        *(parameter for parameter in own if parameter.kind is Parameter.KEYWORD_ONLY),
    ]

    @functools.wraps(command)
    def run(**values: Any) -> None:
        options = {option: values.pop(option) for option in _OPTIONS}
        command(PipelineRef(name=take_name(values), **options), **values)

    # typer reads the parameters of a command from its signature and annotations.
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def pipeline_name(ctx: typer.Context) -> str:
    """Return the name of the pipeline: the word before the command."""
    return str(ctx.parent.info_name) if ctx.parent is not None else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineRef:
    """The pipeline of a command, as its options identify it."""

    name: str
    pipelines_dir: Path | None = None
    destination: str | None = None
    dataset_name: str | None = None
    location: str | None = None
    staging: str | None = None

    @property
    def folder(self) -> Path:
        """The folder with the working folders."""
        return (self.pipelines_dir or pipelines_folder()).absolute()

    def local_pipeline(self) -> LocalPipeline:
        """Return the pipeline's records on this machine; an error lists the known pipelines."""
        local = LocalPipeline(self.folder / check_name(self.name))
        if not local.exists and self.destination is None:
            raise self._unknown_pipeline_error()
        return local

    def open(self) -> Pipeline:
        """Return the pipeline, from this machine or its destination."""
        local = self.local_pipeline()
        pipeline = _attach_pipeline(self)
        if pipeline.destination is None:
            print_text(
                f"note: the destination of {self.name!r} is unknown, so only packages on this machine are "
                "visible; pass --destination",
                err=True,
            )
        last_target, problem = LastTarget.try_load(WorkDir(local.path))
        if problem is not None:
            print_text(f"note: {problem.message}; the options decide where packages are read", err=True)
        _warn_if_other_location(pipeline, last_target)
        return pipeline

    def open_or_create(self, *, destination: str) -> Pipeline:
        """Return the pipeline; a new one, by default to this destination, if this machine has none."""
        if LocalPipeline(self.folder / check_name(self.name)).exists:
            return self.open()
        return create_pipeline(
            self.name,
            pipelines_dir=self.folder,
            destination=_with_location(self.destination or destination, self.location),
            staging=None if self.staging is None else _with_location("filesystem", self.staging),
            dataset_name=self.dataset_name,
        )

    def _unknown_pipeline_error(self) -> UsageError:
        names = [local.name for local in local_pipelines(self.folder)]
        choice = suggestion(self.name, names) if names else "the folder has no pipelines"
        return UsageError(
            f"pipeline {self.name!r} does not exist in {self.folder}",
            hint=f"{choice}; name another folder with --pipelines-dir, or pass --destination and "
            "--dataset-name for a pipeline that ran on another machine",
            pipeline_name=self.name,
            known=tuple(names),
        )


def location_of(pipeline: Pipeline) -> str | None:
    """Return the location of a pipeline's tables without credentials; None without a destination."""
    target = target_of(pipeline)
    return None if target is None else target.client().displayable_location()


def target_of(pipeline: Pipeline) -> Target | None:
    """Return the load target of a pipeline, opened without Spark; None without a destination."""
    if pipeline.destination is None:
        return None
    context = PipelineContext(
        pipeline_name=pipeline.pipeline_name,
        dataset_name=pipeline.dataset_name,
        workdir=WorkDir(Path(pipeline.working_dir)),
    )
    return late_imports.target.open_target(
        pipeline.destination, context, spark=None, staging=pipeline.staging
    )


def _attach_pipeline(ref: PipelineRef) -> Pipeline:
    pipeline = attach(
        ref.name,
        pipelines_dir=ref.folder,
        destination=None if ref.destination is None else _with_location(ref.destination, ref.location),
        staging=None if ref.staging is None else _with_location("filesystem", ref.staging),
        dataset_name=ref.dataset_name,
    )
    if pipeline.destination is not None:
        pipeline.destination = _with_location(pipeline.destination, ref.location)
    elif ref.location is not None:
        hint = "pass --destination too, such as --destination delta"
        raise UsageError(f"--location {ref.location} needs a destination, and none is known", hint=hint)
    return pipeline


def _with_location(reference: str | Destination, location: str | None) -> Destination:
    destination = Destination.from_reference(reference)
    return destination if location is None else destination.with_arguments(bucket_url=location)


def _warn_if_other_location(pipeline: Pipeline, last_target: LastTarget) -> None:
    """Warn about a location other than that of the last run: a bucket from a script is unknown here."""
    previous, current = last_target.location, location_of(pipeline)
    if previous and current and previous != current:
        print_text(
            f"note: the last run loaded to {previous}, this command reads {current}; pass --location",
            err=True,
        )
