"""The commands that change something: they say what they will do, and ask."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.output import print_json, print_text
from penstock.cli.packages import size_of
from penstock.cli.pipeline_options import (
    AsJson,
    DatasetName,
    DestinationName,
    Location,
    PipelineRef,
    PipelinesDir,
    Staging,
    location_of,
    target_of,
)
from penstock.errors import UsageError
from penstock.pipeline import late_imports
from penstock.pipeline.local_pipeline import LocalPipeline

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.package import LoadPackageInfo
    from penstock.pipeline.pipeline import Pipeline

EXIT_NOT_CONFIRMED = 2
"""The exit code of a command that had nobody to ask."""
_AFTER_DROP_TEXT = "The next run asks the source again for what is dropped, and begins work items anew."
Forget = Annotated[
    bool, typer.Option("--forget", help="Delete state and schemas here where the dataset is gone.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do it without asking.")]


def sync(  # noqa: PLR0913 - the options
    ctx: typer.Context,
    pipelines_dir: PipelinesDir = None,
    destination: DestinationName = None,
    dataset_name: DatasetName = None,
    location: Location = None,
    staging: Staging = None,
    *,
    forget: Forget = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Take state and schemas from the destination; asks before it replaces those of this machine."""
    found = PipelineRef.from_options(ctx, pipelines_dir, destination, dataset_name, location, staging).open()
    plan = _sync_effect(found, forget=forget)
    if plan is not None:
        confirm([f"The state and the schemas in {found.working_dir} are {plan}. Packages stay."], yes=yes)
    found.sync_destination()
    version, schemas = found.state.get("_state_version"), list(found.schemas)
    if as_json:
        print_json({"pipeline_name": found.pipeline_name, "state_version": version, "schemas": schemas})
    else:
        print_text(f"The state is that of version {version}, with the schemas {', '.join(schemas)}.")


def drop_pending(  # noqa: PLR0913 - the options
    ctx: typer.Context,
    pipelines_dir: PipelinesDir = None,
    destination: DestinationName = None,
    dataset_name: DatasetName = None,
    location: Location = None,
    staging: Staging = None,
    *,
    keep_partial: Annotated[bool, typer.Option("--keep-partial", help="Keep a load that was begun.")] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Give up the packages that wait; asks first. What a load has brought so far is taken back."""
    found = PipelineRef.from_options(ctx, pipelines_dir, destination, dataset_name, location, staging).open()
    before = _pending_ids(found)
    if before:
        infos = map(found.get_load_package_info, before)
        confirm(
            [*(_drop_effect(info, keep_partial=keep_partial) for info in infos), _AFTER_DROP_TEXT], yes=yes
        )
        found.drop_pending_packages(with_partial_loads=not keep_partial)
    kept = _pending_ids(found) if before else []
    dropped = [load_id for load_id in before if load_id not in kept]
    if as_json:
        print_json({"pipeline_name": found.pipeline_name, "dropped": dropped, "kept": kept})
    elif before:
        print_text(f"Dropped {len(dropped)}, kept {len(kept)}.")
    else:
        print_text("Nothing waits.")


def confirm(plan: Sequence[str], *, yes: bool) -> None:
    """Say what will be done, and go on only with a yes; where nobody can be asked, refuse."""
    for line in plan:
        print_text(line, err=True)
    if yes:
        return
    if not sys.stdin.isatty():
        print_text("penstock: this asks first, and there is no terminal to ask on: pass --yes", err=True)
        raise typer.Exit(code=EXIT_NOT_CONFIRMED)
    if not typer.confirm("Go on?", err=True):
        print_text("Nothing was done.", err=True)
        raise typer.Exit(code=1)


def _sync_effect(pipeline: Pipeline, *, forget: bool) -> str | None:
    """What a sync does to the copies of this machine; None where it takes nothing from anybody.

    A place that is not there may be a gone dataset, and may be a slip of the pen: then nothing is done.
    """
    target = target_of(pipeline)
    if target is None:
        return None
    where = f"{target.destination.destination_name} dataset {pipeline.dataset_name!r}"
    outcome = late_imports.sync.preview_sync(target)
    if outcome == "restored" and LocalPipeline(pipeline.working_dir).state is not None:
        return f"replaced by those of {where}, which are not older"
    if outcome != "forgotten":
        return None
    if not forget:
        raise UsageError(
            f"{where} is not at {location_of(pipeline)}, and this machine keeps a state of it",
            hint="correct --location, --destination or --dataset-name; where the dataset is really gone, "
            "--forget deletes the state and the schemas of this machine",
        )
    return f"deleted, because {where} is not there"


def _pending_ids(pipeline: Pipeline) -> list[str]:
    return sorted({*pipeline.list_extracted_load_packages(), *pipeline.list_normalized_load_packages()})


def _drop_effect(info: LoadPackageInfo, *, keep_partial: bool) -> str:
    """What becomes of a package, in a line."""
    said = (info.state, info.schema_name and f"schema {info.schema_name}", size_of(info))
    package = f"Package {info.load_id} ({', '.join(filter(None, said))})"
    if not _has_started(info):
        return f"{package} is deleted."
    if keep_partial:
        return f"{package} was begun and is kept."
    return f"{package} was begun: it is given up, and what its tables have of it is taken back."


def _has_started(info: LoadPackageInfo) -> bool:
    """Whether tables may have rows of it: only a sealed load is applied to them."""
    tried = (
        state != "new_jobs" or job.job_file_info.retry_count
        for state, jobs in info.jobs.items()
        for job in jobs
    )
    return info.sequence is not None and any(tried)
