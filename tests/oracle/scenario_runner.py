"""Scenarios played with dlt or penstock by one program.

The Python of dlt imports it too, so it imports neither tool.
"""

from __future__ import annotations

import logging
import shutil
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAME, DATASET = "shop", "demo"
Step = dict[str, Any]
_LOG = logging.getLogger(__name__)


class Lake(Protocol):
    """The operations that differ between the tools."""

    @property
    def tool(self) -> Any:
        """The module `dlt`, or `penstock`."""

    @property
    def folder(self) -> Path:
        """The folder of the working folders."""

    def pipeline(self, dataset: str, *, knows_destination: bool = True) -> Any:
        """Return a pipeline as a new process creates it."""

    def content(self, dataset: str) -> dict[str, Any]:
        """Return the user tables with their rows, and the number of complete loads."""

    def spoil(self, dataset: str, table: str) -> None:
        """Replace a table by hand with one row and a text column for ids."""

    def mend(self, dataset: str, table: str) -> None:
        """Replace a table by hand with an empty one and a number column for ids."""


def play(lake: Lake, scenario: dict[str, Any]) -> dict[str, Any]:
    """Play a scenario; return the note of each step, and the content at the end."""
    notes = [_play_step(lake, step) for step in scenario["steps"]]
    datasets = sorted({_dataset(step) for step in scenario["steps"]})
    state = lake.pipeline(_dataset(scenario["steps"][-1])).state.get("sources", {})
    return {
        "steps": notes,
        "datasets": {dataset: lake.content(dataset) for dataset in datasets},
        "state": without_empty(state),
    }


def _play_step(lake: Lake, step: Step) -> dict[str, Any]:
    """Play one step with a new pipeline; steps outside of the tool have an empty note."""
    match step["do"]:
        case "wipe":
            shutil.rmtree(lake.folder / NAME, ignore_errors=True)
        case "spoil":
            lake.spoil(_dataset(step), step["table"])
        case "mend":
            lake.mend(_dataset(step), step["table"])
        case _:
            return _call_and_note(lake, step)
    return {}


def _call_and_note(lake: Lake, step: Step) -> dict[str, Any]:
    pipeline = lake.pipeline(_dataset(step), knows_destination=not step.get("apart"))
    note: dict[str, Any] = {}
    try:
        info = _call(lake.tool, pipeline, step)
    except Exception as error:
        # Many steps must fail; an unexpected error is shown with the failed test.
        _LOG.warning("%s failed", step["do"], exc_info=True)
        note["error"] = [getattr(error, "step", ""), _fault(error)]
    else:
        if step["do"] in {"run", "load"}:
            note["loads"] = len(info.loads_ids) if info is not None else 0
            if info is not None and info.has_failed_jobs:
                note["failed_jobs"] = True
    return {**note, "pending": bool(pipeline.has_pending_data), "first_run": bool(pipeline.first_run)}


def _fault(error: Exception) -> str:
    """Return the name of the error of a step; for a normalize job of dlt, of its cause."""
    result = getattr(error, "exception", error)
    why = result.__cause__ if type(result).__name__ == "NormalizeJobFailed" else None
    return type(why or result).__name__


def _call(tool: Any, pipeline: Any, step: Step) -> Any:
    options = {"refresh": step["refresh"]} if "refresh" in step else {}
    data = [_resource(tool, item) for item in step.get("resources", ())] or None
    match step["do"]:
        case "run":
            return pipeline.run(data, **options)
        case "extract":
            return pipeline.extract(data, **options)
        case "normalize":
            return pipeline.normalize()
        case "load":
            return pipeline.load()
        case "sync":
            return pipeline.sync_destination()
        case "drop":
            return pipeline.drop()
        case "drop_pending":
            return pipeline.drop_pending_packages()
        case "delete":
            with pipeline.destination_client() as client:
                return client.drop_storage()
        case other:
            raise ValueError(other)


def _resource(tool: Any, options: dict[str, Any]) -> Any:
    hints = dict(options["hints"])
    if "cursor" in options:
        hints["incremental"] = tool.sources.incremental(options["cursor"])

    def read() -> Iterator[Any]:
        if options.get("counts"):
            state = tool.current.resource_state()
            state["times"] = state.get("times", 0) + 1
        for number, row in enumerate(options["rows"]):
            if number == options.get("raises_at"):
                raise RuntimeError("in the middle")
            yield row

    return tool.resource(read, name=options["name"], **hints)


def _dataset(step: Step) -> str:
    result: str = step.get("dataset", DATASET)
    return result


def without_empty(result: Any) -> Any:
    """Return a state without empty entries, which reading creates. Hashes of a set are sorted."""
    if not isinstance(result, dict):
        return result
    remaining = {key: without_empty(item) for key, item in result.items() if key != "unique_hashes"}
    remaining |= {key: sorted(item) for key, item in result.items() if key == "unique_hashes"}
    return {key: item for key, item in remaining.items() if item not in ({}, None)}
