"""The context of a run for user code (`penstock.current`)."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING, Any

from penstock.errors import CurrentLoadPackageStateNotAvailable, NotDuringRun
from penstock.interfaces.run_context import current_context
from penstock.interfaces.scheduler import interval
from penstock.sources.state import resource_state, source_state

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import tzinfo

    from penstock.schema import Schema
    from penstock.sources.resource import Resource
    from penstock.sources.source import Source

__all__ = [
    "destination_state",
    "get_resource",
    "get_resource_metrics",
    "interval",
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
    "timezone",
]

state = source_state


def pipeline() -> Any:
    """Return the active pipeline."""
    return _require("a pipeline", current_context().pipeline)


def source_schema() -> Schema:
    """Return the schema of the current source; changes by the function of the source take effect."""
    schema: Schema = _require("the schema of a source", current_context().schema)
    return schema


def source() -> Source:
    """Return the source that is extracted."""
    current: Source = _require("the source", current_context().source)
    return current


def resource() -> Resource:
    """Return the resource that is extracted."""
    current: Resource = _require("the resource", current_context().resource)
    return current


def resource_name() -> str:
    """Return the name of the resource that is extracted."""
    return str(_require("the resource", current_context().resource_name))


def resource_metrics() -> dict[str, Any]:
    """Return a dict for counts of the current resource, which is part of the report and not of the state."""
    metrics: dict[str, Any] = _require("the resource", current_context().metrics)
    return metrics


get_resource = resource
get_resource_metrics = resource_metrics


def timezone() -> tzinfo:
    """Return the time zone in which timestamps are written.

    >>> print(timezone())
    UTC
    """
    return UTC


def spark(conf: Mapping[str, str] | None = None) -> Any:
    """Return a Spark session for the DataFrames that a resource yields, separate from the user's session.

    It has the configuration of the destination's session and the additional `conf`, for example the keys of
    another bucket. It is valid until the end of the extract stage.
    """
    return _require("a Spark session", current_context().lend_session)(conf or {})


def load_package_state() -> dict[str, Any]:
    """Return the current load package: its id and its state."""
    package = current_context().package
    if package is None:
        raise CurrentLoadPackageStateNotAvailable
    return package.document


def destination_state() -> dict[str, Any]:
    """Return the destination's part of the state of the load package; created at first use."""
    destination: dict[str, Any] = load_package_state()["state"].setdefault("destination_state", {})
    return destination


def _require(what: str, value: Any) -> Any:
    if value is None:
        raise NotDuringRun(what=what)
    return value
