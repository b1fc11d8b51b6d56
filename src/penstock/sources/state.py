"""State that user code keeps between runs: of a source, and of each of its resources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.errors import NotDuringRun, UsageError
from penstock.interfaces.run_context import current_context, is_on_executor

if TYPE_CHECKING:
    from penstock.interfaces.run_context import RunContext

SOURCES, RESOURCES = "sources", "resources"


def source_state(source_state_key: str | None = None) -> dict[str, Any]:
    """The state of the source at hand, a dict that is kept with the pipeline.

    It is stored with the load that it belongs to. Outside a run it is a copy, kept by nobody, of what this
    machine knows of the active pipeline.

    >>> source_state()["page"] = 7
    >>> source_state()
    {}
    """
    moment = current_context()
    if moment.state is None:
        if is_on_executor():
            raise UsageError(
                "state is kept on the driver, and this runs on an executor",
                hint="pass what the function needs as an argument, or set extract.work_items = 'driver'",
            )
        return _active_source_state(moment, source_state_key)
    name = source_state_key or moment.source_name
    if name is None:
        raise NotDuringRun(what="the source")
    found: dict[str, Any] = moment.state.setdefault(SOURCES, {}).setdefault(name, {})
    return found


def _active_source_state(context: RunContext, key: str | None) -> dict[str, Any]:
    if context.pipeline is None:
        return {}
    state = context.pipeline.kept_state()
    name = key or context.source_name or state["default_schema_name"]
    found: dict[str, Any] = state[SOURCES].get(name, {})
    return found


def resource_state(
    resource_name: str | None = None, source_state_: dict[str, Any] | None = None, /
) -> dict[str, Any]:
    """The state of the resource at hand, or of another one of its source.

    >>> resource_state("orders")
    {}
    """
    state = source_state() if source_state_ is None else source_state_
    name = resource_name or current_context().resource_name
    if name is None:
        raise NotDuringRun(what="the resource")
    found: dict[str, Any] = state.setdefault(RESOURCES, {}).setdefault(name, {})
    return found
