"""The state of a source and of its resources, which user code reads and changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.errors import NotDuringRun, UsageError
from penstock.interfaces.run_context import current_context, is_on_executor

if TYPE_CHECKING:
    from penstock.interfaces.run_context import RunContext

SOURCES, RESOURCES = "sources", "resources"


def source_state(source_state_key: str | None = None) -> dict[str, Any]:
    """Return the state of the current source, a dict that is stored with the pipeline.

    It is committed with the load. Outside a run it is a copy of the local state of the active pipeline, and
    changes are lost.

    >>> source_state()["page"] = 7
    >>> source_state()
    {}
    """
    context = current_context()
    if context.state is None:
        if is_on_executor():
            raise UsageError(
                "state is only available on the driver, but this code runs on an executor",
                hint="pass the values as arguments, or set extract.work_items = 'driver'",
            )
        return _active_source_state(context, source_state_key)
    name = source_state_key or context.source_name
    if name is None:
        raise NotDuringRun(what="the source")
    state: dict[str, Any] = context.state.setdefault(SOURCES, {}).setdefault(name, {})
    return state


def _active_source_state(context: RunContext, key: str | None) -> dict[str, Any]:
    if context.pipeline is None:
        return {}
    pipeline_state = context.pipeline.kept_state()
    name = key or context.source_name or pipeline_state["default_schema_name"]
    state: dict[str, Any] = pipeline_state[SOURCES].get(name, {})
    return state


def resource_state(
    resource_name: str | None = None, source_state_: dict[str, Any] | None = None, /
) -> dict[str, Any]:
    """Return the state of the current resource, or of another resource of its source.

    >>> resource_state("orders")
    {}
    """
    of_source = source_state() if source_state_ is None else source_state_
    name = resource_name or current_context().resource_name
    if name is None:
        raise NotDuringRun(what="the resource")
    state: dict[str, Any] = of_source.setdefault(RESOURCES, {}).setdefault(name, {})
    return state
