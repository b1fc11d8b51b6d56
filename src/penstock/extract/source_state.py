"""What sources remember: which part of it a package carries, and what is forgotten."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

from penstock.package.typed_json import to_typed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.interfaces.refresh import Refresh
    from penstock.interfaces.source import Flow

State = dict[str, Any]
_SOURCES, _RESOURCES = "sources", "resources"


def reset_replaced_resources(flow: Flow, state: State, source_name: str) -> None:
    """A resource that replaces its table begins anew: what it remembered goes."""
    resources = _resource_states(state, source_name)
    for stream in flow.streams:
        if stream.hints.disposition == "replace":
            resources.pop(stream.name, None)


def reset_refreshed(state: State, source_name: str, refresh: Refresh) -> None:
    """What begins anew remembers nothing: a source as a whole, or its resources."""
    if refresh.mode == "drop_sources":
        state.get(_SOURCES, {}).pop(source_name, None)
        return
    resources = _resource_states(state, source_name)
    for resource in refresh.resources:
        resources.pop(resource, None)


def copy_resource_states(state: State, source_name: str) -> State:
    """A copy of what the resources of a source remember at this moment."""
    return deepcopy(_resource_states(state, source_name))


def restore_resource_states(
    state: State, source_name: str, resources: Iterable[str], previous: State
) -> None:
    """Let resources remember what they remembered before, and nothing else."""
    now = _resource_states(state, source_name)
    for resource in resources:
        now.pop(resource, None)
        if resource in previous:
            now[resource] = previous[resource]


def typed_copy(state: State) -> State:
    """A copy of what sources remember, in typed JSON, without states that hold nothing.

    Asking for a state is no change of it.
    """
    found: State = {}
    for name, source in state.get(_SOURCES, {}).items():
        resources = {key: value for key, value in source.get(_RESOURCES, {}).items() if value}
        rest = {key: value for key, value in source.items() if key != _RESOURCES}
        whole = {**rest, _RESOURCES: resources} if resources else rest
        if whole:
            found[name] = whole
    copy: State = to_typed(found)
    return copy


def _resource_states(state: State, source_name: str) -> State:
    found: State = state.get(_SOURCES, {}).get(source_name, {}).get(_RESOURCES, {})
    return found
