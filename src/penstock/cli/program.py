"""The command `run`: a program, or a source of a module, in this process."""

from __future__ import annotations

import inspect
import runpy
import sys
import traceback
from contextlib import nullcontext
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from penstock.cli.load import run_document
from penstock.cli.load_plan import destination_of
from penstock.cli.output import print_json, print_text, print_to_stderr
from penstock.compat.import_hook import as_dlt
from penstock.config import redact
from penstock.errors import PenstockError, UsageError, suggestion
from penstock.interfaces import Destination
from penstock.interfaces.destination import destination_names
from penstock.interfaces.source import DeclarationBase
from penstock.pipeline.factory import pipeline as create_pipeline
from penstock.pipeline.pipeline import active_pipeline
from penstock.sources.factory import SourceFactory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import ModuleType

    from penstock.load.report import LoadInfo
    from penstock.pipeline.pipeline import Pipeline
    from penstock.pipeline.plan import LoadPlan

Result = TypeVar("Result")


def run_program(program: Path, arguments: Sequence[str], *, dlt_as_penstock: bool, as_json: bool) -> int:
    """Run a program as `python PROGRAM ARGUMENTS` would, and return its exit code.

    The code is 1 after an error, and where the last load of the active pipeline left failed jobs.
    With `as_json` the program prints to the standard error.
    """
    if dlt_as_penstock:
        as_dlt()
    start = datetime.now(UTC)
    sys.argv = [str(program), *arguments]
    sys.path.insert(0, str(program.resolve().parent))
    try:
        with print_to_stderr() if as_json else nullcontext():
            runpy.run_path(str(program), run_name="__main__")
    except SystemExit as error:
        if error.code:
            raise
    except Exception as error:  # the code is the user's, and may raise anything
        _print_traceback(error)
        return 1
    return _report_load(start, as_json=as_json)


def run_source(
    reference: str,
    *,
    destination: str | None,
    dataset_name: str | None,
    pipeline_name: str | None,
    as_json: bool,
) -> int:
    """Run a source or resource, named as `module:name`, in a pipeline, and return the exit code.

    The code is 1 after an error of the source, and where a load has failed jobs.
    """
    start = datetime.now(UTC)

    def run(pipeline: Pipeline, data: Any) -> LoadInfo:
        info = pipeline.run(data)
        print_text(str(info))
        return info

    if _with_source(reference, run, destination, dataset_name, pipeline_name, as_json=as_json) is None:
        return 1
    return _report_load(start, as_json=as_json)


def plan_source(
    reference: str,
    *,
    destination: str | None,
    dataset_name: str | None,
    pipeline_name: str | None,
    as_json: bool,
) -> LoadPlan | None:
    """Plan the load of a source or resource, named as `module:name`; None after an error of the source."""

    def plan(pipeline: Pipeline, data: Any) -> LoadPlan:
        return pipeline.plan(data)

    return _with_source(reference, plan, destination, dataset_name, pipeline_name, as_json=as_json)


def _with_source(
    reference: str,
    use: Callable[[Pipeline, Any], Result],
    destination: str | None,
    dataset_name: str | None,
    pipeline_name: str | None,
    *,
    as_json: bool,
) -> Result | None:
    """Use the data of a source in a pipeline; print the traceback of an error of the source, return None."""
    module_name, _, name = reference.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        with print_to_stderr() if as_json else nullcontext():
            data = _source_named(name, _import(module_name))
            pipeline = create_pipeline(
                pipeline_name or name,
                destination=None if destination is None else _destination(destination),
                dataset_name=dataset_name,
            )
            return use(pipeline, data() if _is_factory(data) else data)
    except PenstockError:
        raise
    except Exception as error:  # the code is the user's, and may raise anything
        _print_traceback(error)
        return None


def _import(name: str) -> ModuleType:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.partition(".")[0] and error.name != name:
            raise
        modules = sorted(path.stem for path in Path.cwd().glob("*.py"))
        raise UsageError(
            f"module {name!r} does not exist in {Path.cwd()}", hint=suggestion(name, modules)
        ) from error


def _source_named(name: str, module: ModuleType) -> Any:
    names = list(_source_names(module))
    if name not in names:
        raise UsageError(f"module {module.__name__!r} has no source {name!r}", hint=suggestion(name, names))
    return getattr(module, name)


def _source_names(module: ModuleType) -> Iterator[str]:
    """Yield the names of sources, resources, and functions that the module defines."""
    for name, value in vars(module).items():
        is_own = inspect.isfunction(value) and value.__module__ == module.__name__
        if is_own or isinstance(value, SourceFactory | DeclarationBase):
            yield name


def _is_factory(value: Any) -> bool:
    return inspect.isfunction(value) or isinstance(value, SourceFactory)


def _destination(text: str) -> str | Destination:
    """Return a destination by its name, whose location is a setting, or by its location."""
    if text in destination_names():
        return text
    factory, location = destination_of(text)
    return Destination.from_reference(factory).with_arguments(bucket_url=location)


def _print_traceback(error: Exception) -> None:
    """Print a traceback without the frames of this module, without secrets."""
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename in {
        __file__,
        runpy.__file__,
        "<frozen runpy>",
    }:
        frames = frames.tb_next
    text = "".join(traceback.format_exception(type(error), error, frames))
    print(redact(text), end="", file=sys.stderr)


def _report_load(since: datetime, *, as_json: bool) -> int:
    """Report the failed jobs of the last load of the active pipeline, and return the exit code."""
    pipeline = active_pipeline()
    trace = pipeline.last_trace if pipeline is not None else None
    if trace is None or trace.started_at < since or trace.last_load_info is None:
        return 0
    if as_json:
        print_json(run_document(trace.last_load_info, seconds=trace.seconds), unmasked=("rows",))
    if not trace.last_load_info.has_failed_jobs:
        return 0
    name = trace.pipeline_name
    print(
        f"penstock: jobs of pipeline '{name}' failed: see `penstock pipeline {name} failed-jobs`",
        file=sys.stderr,
    )
    return 1
