"""Summaries of pipelines: destination, last run and pending packages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from penstock.cli.output import printable
from penstock.cli.pipeline_options import location_of
from penstock.interfaces.humanize import human_count, human_seconds
from penstock.pipeline.last_target import LastTarget
from penstock.pipeline.local_pipeline import LocalPipeline
from penstock.pipeline.trace import RunStart
from penstock.pipeline.workdir import WorkDir

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.cli.json_documents import LeaseSummary, PipelineOverview, PipelineSummary, RunSummary
    from penstock.package.lease import LeaseStatus
    from penstock.pipeline.pipeline import Pipeline
    from penstock.pipeline.trace import PipelineTrace

_NONE = "-"
_UNFINISHED_RESULTS = {
    "running": Text("running", style="yellow"),
    "ended": Text("did not finish", style="red"),
    "unknown": Text("not finished", style="yellow"),
}


def pipeline_summary(local: LocalPipeline) -> PipelineSummary:
    """Return the local facts of a pipeline without reading its destination."""
    last_target, problem = LastTarget.try_load(WorkDir(local.path))
    return {
        "pipeline_name": local.name,
        "working_dir": str(local.path),
        "destination": last_target.destination_name,
        "dataset_name": last_target.dataset_name,
        "last_run": run_summary(local.last_run),
        "problem": None if problem is None else problem.message,
    }


def run_summary(run: PipelineTrace | RunStart | None) -> RunSummary | None:
    """Return the result of a run, finished or not; None without a run."""
    if run is None:
        return None
    if isinstance(run, RunStart):
        state = run.state
        return {
            "started_at": run.started_at.isoformat(),
            "state": state,
            "seconds": None,
            "failed_step": None,
            "error": None if state == "running" else f"{run.outcome}; {run.hint}",
            "error_code": None,
            "failed_jobs": 0,
        }
    failed = run.failed_step
    return {
        "started_at": run.started_at.isoformat(),
        "state": "finished",
        "seconds": round(run.seconds, 3),
        "failed_step": failed.step if failed else None,
        "error": failed.error if failed else None,
        "error_code": failed.error_code if failed else None,
        "failed_jobs": sum(
            len(step.info.recorded_facts().get("failed_jobs", ()))
            for step in run.steps
            if step.step == "load"
        ),
    }


def pipeline_overview(pipeline: Pipeline) -> PipelineOverview:
    """Return the facts to look at first when something is wrong."""
    extracted = list(pipeline.list_extracted_load_packages())
    normalized = list(pipeline.list_normalized_load_packages())
    schemas = pipeline.schemas
    return {
        "pipeline_name": pipeline.pipeline_name,
        "working_dir": pipeline.working_dir,
        "destination": pipeline.destination.destination_name if pipeline.destination else None,
        "dataset_name": pipeline.dataset_name,
        "location": location_of(pipeline),
        "first_run": pipeline.first_run,
        "extracted_packages": extracted,
        "normalized_packages": normalized,
        "completed_packages": len(pipeline.list_retained_load_packages()),
        "state_version": pipeline.state.get("_state_version"),
        "schemas": {name: len(schema.data_tables()) for name, schema in schemas.items()},
        "last_run": run_summary(LocalPipeline(Path(pipeline.working_dir)).last_run),
        "lease": lease_summary(pipeline.current_lease),
    }


def lease_summary(lease: LeaseStatus | None) -> LeaseSummary | None:
    """Return who holds a lease; None if it is not held."""
    if lease is None:
        return None
    last_heartbeat_at = lease.last_heartbeat_at
    return {
        "host": lease.host,
        "process": lease.process,
        "user": lease.user,
        "started_at": lease.started_at.isoformat(),
        "last_heartbeat_at": None if last_heartbeat_at is None else last_heartbeat_at.isoformat(),
        "is_expired": lease.is_expired,
    }


def pipelines_table(summaries: Iterable[PipelineSummary]) -> Table:
    """Return a table with one line per pipeline."""
    table = Table()
    table.add_column("pipeline", no_wrap=True)
    for name in ("destination", "dataset"):
        table.add_column(name, overflow="fold")
    table.add_column("last run (UTC)", no_wrap=True)
    table.add_column("result", overflow="fold")
    for line in summaries:
        run = line["last_run"]
        table.add_row(
            *(
                Text(printable(line[key] or _NONE))
                for key in ("pipeline_name", "destination", "dataset_name")
            ),
            Text(_short_timestamp(run["started_at"]) if run else _NONE),
            _result_text(run) if line["problem"] is None else Text(printable(line["problem"]), style="red"),
        )
    return table


def overview_lines(overview: PipelineOverview) -> list[str]:
    """Return the lines of an overview for people."""
    target = f"{overview['destination'] or 'no destination'}, dataset {overview['dataset_name']!r}"
    pending = {"extracted": overview["extracted_packages"], "normalized": overview["normalized_packages"]}
    lines = [
        f"Pipeline {overview['pipeline_name']!r} to {target}",
        *([f"  location:  {overview['location']}"] if overview["location"] else []),
        f"  working:   {overview['working_dir']}",
        f"  last run:  {_run_text(overview['last_run'])}",
        *([f"  lease:     {_lease_text(overview['lease'])}"] if overview["lease"] else []),
        f"  state:     version {overview['state_version']}",
        *(f"  schema:    {name}, {count} tables" for name, count in overview["schemas"].items()),
        f"  packages:  {overview['completed_packages']} complete"
        + "".join(f", {len(ids)} {status}" for status, ids in pending.items()),
    ]
    lines += [f"    pending: {load_id} ({status})" for status, ids in pending.items() for load_id in ids]
    return lines


def _result_text(run: RunSummary | None) -> Text:
    if run is None:
        return Text(_NONE)
    if run["state"] != "finished":
        return _UNFINISHED_RESULTS[run["state"]]
    if run["failed_step"] is None:
        left_out = _left_out_text(run)
        return Text(left_out or "ok", style="red" if left_out else "green")
    return Text(f"failed in {run['failed_step']}", style="red")


def _run_text(run: RunSummary | None) -> str:
    if run is None:
        return "none on this machine"
    if run["seconds"] is None:
        return f"started at {_short_timestamp(run['started_at'])} UTC, {run['error'] or 'is still running'}"
    started = f"{_short_timestamp(run['started_at'])} UTC, {human_seconds(run['seconds'])}"
    if run["failed_step"] is None:
        return f"{started}, {_left_out_text(run) or 'ok'}"
    return f"{started}, failed in {run['failed_step']} ({run['error_code'] or 'no code'}): {run['error']}"


def _lease_text(lease: LeaseSummary) -> str:
    """Return who holds a lease, and its last heartbeat."""
    heartbeat = lease["last_heartbeat_at"]
    text = f"process {lease['process']} of {lease['user']} on {lease['host']}, last heartbeat " + (
        "unreadable" if heartbeat is None else f"{_short_timestamp(heartbeat)} UTC"
    )
    return f"{text}; expired, the next run takes it" if lease["is_expired"] else text


def _left_out_text(run: RunSummary) -> str:
    """Return how many jobs a run has left out; empty if none."""
    count: int = run["failed_jobs"]
    return f"loaded without {human_count(count, 'failed job')}" if count else ""


def _short_timestamp(timestamp: str) -> str:
    return timestamp[:19].replace("T", " ")
