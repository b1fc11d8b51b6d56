"""A pipeline at a glance: where it goes, how its last run ended, and what waits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from penstock.cli.opening import location_of
from penstock.cli.printing import plain
from penstock.interfaces.amounts import human_seconds
from penstock.pipeline.local import LocalPipeline
from penstock.pipeline.origin import Origin
from penstock.pipeline.trace import RunStart
from penstock.pipeline.workdir import WorkDir

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from penstock.pipeline.pipeline import Pipeline
    from penstock.pipeline.trace import PipelineTrace

_NONE = "-"
_UNFINISHED = {
    "running": Text("running", style="yellow"),
    "ended": Text("did not finish", style="red"),
    "unknown": Text("not finished", style="yellow"),
}


def line_of(local: LocalPipeline) -> dict[str, Any]:
    """What this machine knows of a pipeline; no destination is asked."""
    origin, problem = Origin.read(WorkDir(local.path))
    return {
        "pipeline_name": local.name,
        "working_dir": str(local.path),
        "destination": origin.destination_name,
        "dataset_name": origin.dataset_name,
        "last_run": run_of(local.last_run),
        "problem": None if problem is None else problem.message,
    }


def run_of(run: PipelineTrace | RunStart | None) -> dict[str, Any] | None:
    """Return how a run ended; `state` says whether it did."""
    if run is None:
        return None
    if isinstance(run, RunStart):
        ended = {"seconds": None, "failed_step": None, "error_code": None}
        state = run.state
        error = None if state == "running" else f"{run.outcome}; {run.next_move}"
        return {"started_at": run.started_at.isoformat(), "state": state, "error": error, **ended}
    failed = run.failed_step
    return {
        "started_at": run.started_at.isoformat(),
        "state": "finished",
        "seconds": round(run.seconds, 3),
        "failed_step": failed.step if failed else None,
        "error": failed.error if failed else None,
        "error_code": failed.error_code if failed else None,
    }


def overview_of(pipeline: Pipeline) -> dict[str, Any]:
    """Everything that is asked first when something is wrong."""
    extracted = list(pipeline.list_extracted_load_packages())
    normalized = list(pipeline.list_normalized_load_packages())
    schemas = pipeline.schemas
    return {
        "pipeline_name": pipeline.pipeline_name,
        "working_dir": str(pipeline.working_dir),
        "destination": pipeline.destination.destination_name if pipeline.destination else None,
        "dataset_name": pipeline.dataset_name,
        "location": location_of(pipeline),
        "first_run": pipeline.first_run,
        "extracted_packages": extracted,
        "normalized_packages": normalized,
        "completed_packages": len(pipeline.list_completed_load_packages()),
        "state_version": pipeline.state.get("_state_version"),
        "schemas": {name: len(schema.data_tables()) for name, schema in schemas.items()},
        "last_run": run_of(LocalPipeline(pipeline.working_dir).last_run),
    }


def pipelines_table(lines: Iterable[Mapping[str, Any]]) -> Table:
    """One line for each pipeline."""
    table = Table()
    table.add_column("pipeline", no_wrap=True)
    for name in ("destination", "dataset"):
        table.add_column(name, overflow="fold")
    table.add_column("last run (UTC)", no_wrap=True)
    table.add_column("result", overflow="fold")
    for line in lines:
        run = line["last_run"]
        table.add_row(
            *(Text(plain(line[key] or _NONE)) for key in ("pipeline_name", "destination", "dataset_name")),
            Text(_moment(run["started_at"]) if run else _NONE),
            _result(run) if line["problem"] is None else Text(plain(line["problem"]), style="red"),
        )
    return table


def overview_lines(found: Mapping[str, Any]) -> list[str]:
    """An overview for people."""
    where = f"{found['destination'] or 'no destination'}, dataset {found['dataset_name']!r}"
    waiting = {"extracted": found["extracted_packages"], "normalized": found["normalized_packages"]}
    lines = [
        f"Pipeline {found['pipeline_name']!r} to {where}",
        *([f"  location:  {found['location']}"] if found["location"] else []),
        f"  working:   {found['working_dir']}",
        f"  last run:  {_told(found['last_run'])}",
        f"  state:     version {found['state_version']}",
        *(f"  schema:    {name}, {count} tables" for name, count in found["schemas"].items()),
        f"  packages:  {found['completed_packages']} complete"
        + "".join(f", {len(ids)} {status}" for status, ids in waiting.items()),
    ]
    lines += [f"    waits:   {load_id} ({status})" for status, ids in waiting.items() for load_id in ids]
    return lines


def _result(run: Mapping[str, Any] | None) -> Text:
    if run is None:
        return Text(_NONE)
    if run["state"] != "finished":
        return _UNFINISHED[run["state"]]
    if run["failed_step"] is None:
        return Text("ok", style="green")
    return Text(f"failed in {run['failed_step']}", style="red")


def _told(run: Mapping[str, Any] | None) -> str:
    if run is None:
        return "none on this machine"
    if run["state"] != "finished":
        return f"started at {_moment(run['started_at'])} UTC, {run['error'] or 'is still running'}"
    begun = f"{_moment(run['started_at'])} UTC, {human_seconds(run['seconds'])}"
    if run["failed_step"] is None:
        return f"{begun}, ok"
    return f"{begun}, failed in {run['failed_step']} ({run['error_code'] or 'no code'}): {run['error']}"


def _moment(told: str) -> str:
    return told[:19].replace("T", " ")
