"""The commands that change a pipeline: they print their effects first, and ask."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.output import print_json, print_text
from penstock.cli.packages import size_of
from penstock.cli.pipeline_options import AsJson, PipelineRef, location_of, target_of
from penstock.errors import UsageError
from penstock.pipeline import late_imports
from penstock.pipeline.local_pipeline import LocalPipeline

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.cli.json_documents import (
        FailedJobPath,
        PackageAbortDocument,
        PendingDropDocument,
        SyncDocument,
    )
    from penstock.package import LoadPackageInfo
    from penstock.pipeline.drop_resources import ResourceDrop
    from penstock.pipeline.pipeline import Pipeline

EXIT_NOT_CONFIRMED = 2
"""The exit code of a command that needs a confirmation and has no terminal."""
_AFTER_DROP_TEXT = "The next run extracts the dropped data again and starts work items from scratch."
_AFTER_UNDO_TEXT = "State and schema are those before these loads: the next run extracts their rows again."
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]


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
        document: SyncDocument = {
            "pipeline_name": pipeline.pipeline_name,
            "state_version": version,
            "schemas": schemas,
        }
        print_json(document)
    else:
        print_text(f"The state has version {version} and the schemas {', '.join(schemas)}.")


def drop_pending(
    ref: PipelineRef,
    *,
    keep_partial: Annotated[bool, typer.Option("--keep-partial", help="Keep a started load.")] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Drop the pending packages and roll back a load that has started; ask first."""
    pipeline = ref.open()
    pending = pending_ids(pipeline)
    if pending:
        effects = [
            _drop_effect(pipeline.get_load_package_info(load_id), keep_partial=keep_partial)
            for load_id in pending
        ]
        confirm([*effects, _AFTER_DROP_TEXT], yes=yes)
        pipeline.drop_pending_packages(with_partial_loads=not keep_partial)
    remaining = pending_ids(pipeline) if pending else []
    dropped = [load_id for load_id in pending if load_id not in remaining]
    if as_json:
        document: PendingDropDocument = {
            "pipeline_name": pipeline.pipeline_name,
            "dropped": dropped,
            "kept": remaining,
        }
        print_json(document)
    elif pending:
        print_text(f"Dropped {len(dropped)}, kept {len(remaining)}.")
    else:
        print_text("No packages are pending.")


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
                f"packages of {pipeline.pipeline_name!r} are pending: {', '.join(pending_ids(pipeline))}",
                hint="run the pipeline, or drop them with abort-packages, then drop the resources",
            )
        confirm(_resource_drop_effects(plan), yes=yes)
        pipeline.drop_resources(*names, **options)
    if as_json:
        print_json({"pipeline_name": pipeline.pipeline_name, **plan.asdict()})
    else:
        print_text("Nothing is to be dropped." if plan.is_empty else "Dropped.")


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
        affected = [pending for pending in pending_ids(pipeline) if pending >= (load_id or "")]
        infos = map(pipeline.get_load_package_info, affected)
        confirm([*(_drop_effect(info, keep_partial=False) for info in infos), _AFTER_DROP_TEXT], yes=yes)
        plan = pipeline.abort_packages(load_id)
    if as_json:
        document: PackageAbortDocument = {"pipeline_name": pipeline.pipeline_name, "aborted": plan}
        print_json(document)
    else:
        print_text("No packages are pending." if plan is None else f"Aborted {len(affected)}.")


def undo(
    ref: PipelineRef,
    load_id: Annotated[
        str | None, typer.Argument(help="The oldest load to undo; by default the last load.")
    ] = None,
    *,
    last: Annotated[int, typer.Option("--last", min=1, help="The number of loads to undo.")] = 1,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite what others have changed in the tables since.")
    ] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Undo the last complete loads, by a separate load; ask first."""
    pipeline = ref.open()
    plan = pipeline.undo(load_id, last=last, dry_run=True)
    if not plan.is_pending:
        plan.raise_if_refused(force=force)
    confirm([*plan.lines(), _AFTER_UNDO_TEXT], yes=yes)
    result = pipeline.undo(load_id, last=last, force=force)
    if as_json:
        print_json(result.asdict())
    else:
        print_text(f"Undone by load {result.load_id}.")


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
        document: FailedJobPath = {
            "pipeline_name": pipeline.pipeline_name,
            "load_id": load_id,
            "path": path,
        }
        print_json(document)
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


def pending_ids(pipeline: Pipeline) -> list[str]:
    """Return the ids of the pending packages, oldest first."""
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
