"""What user code may ask while it runs: `penstock.current`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.errors import CurrentLoadPackageStateNotAvailable, NotDuringRun
from penstock.interfaces.run_context import current_context
from penstock.sources.state import resource_state, source_state

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.schema import Schema
    from penstock.sources.resource import Resource
    from penstock.sources.source import Source

__all__ = [
    "destination_state",
    "load_package_state",
    "pipeline",
    "resource",
    "resource_metrics",
    "resource_name",
    "resource_state",
    "source",
    "source_schema",
    "source_state",
    "spark",
    "state",
]

state = source_state


def pipeline() -> Any:
    """The pipeline that runs."""
    return _require("a pipeline", current_context().pipeline)


def source_schema() -> Schema:
    """The schema of the source at hand. What the function of a source changes in it counts."""
    found: Schema = _require("the schema of a source", current_context().schema)
    return found


def source() -> Source:
    """The source that is extracted."""
    found: Source = _require("the source", current_context().source)
    return found


def resource() -> Resource:
    """The resource that is extracted."""
    found: Resource = _require("the resource", current_context().resource)
    return found


def resource_name() -> str:
    """The name of the resource that is extracted."""
    return str(_require("the resource", current_context().resource_name))


def resource_metrics() -> dict[str, Any]:
    """A dict for counts of the resource that is extracted; it is part of the report, and not of the state."""
    found: dict[str, Any] = _require("the resource", current_context().metrics)
    return found


def spark(conf: Mapping[str, str] | None = None) -> Any:
    """A session of Spark to make DataFrames with, for a resource to yield; it is no session of the user's.

    It can open what the destination's session can, and what `conf` says besides: keys of another bucket, say.
    It is there until the extraction is over.
    """
    return _require("a Spark session", current_context().lend_session)(conf or {})


def load_package_state() -> dict[str, Any]:
    """The load package at hand: its id and its state."""
    package = current_context().package
    if package is None:
        raise CurrentLoadPackageStateNotAvailable
    return package.document


def destination_state() -> dict[str, Any]:
    """The part of the load package's state that is the destination's own; made when asked for."""
    found: dict[str, Any] = load_package_state()["state"].setdefault("destination_state", {})
    return found


def _require(what: str, value: Any) -> Any:
    if value is None:
        raise NotDuringRun(what=what)
    return value
