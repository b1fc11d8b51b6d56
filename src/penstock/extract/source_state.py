"""The state of sources in a package: copies, resets and restores of it."""

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
    """Reset the state of resources that replace their tables."""
    resources = _resource_states(state, source_name)
    for stream in flow.streams:
        if stream.hints.disposition == "replace":
            resources.pop(stream.name, None)


def reset_refreshed(state: State, source_name: str, refresh: Refresh) -> None:
    """Reset the state of a refreshed source, or of its refreshed resources."""
    if refresh.mode == "drop_sources":
        state.get(_SOURCES, {}).pop(source_name, None)
        return
    resources = _resource_states(state, source_name)
    for resource in refresh.resources:
        resources.pop(resource, None)


def copy_resource_states(state: State, source_name: str) -> State:
    """Return a copy of the states of a source's resources."""
    return deepcopy(_resource_states(state, source_name))


def restore_resource_states(
    state: State, source_name: str, resources: Iterable[str], previous: State
) -> None:
    """Restore the previous states of resources."""
    states = _resource_states(state, source_name)
    for resource in resources:
        states.pop(resource, None)
        if resource in previous:
            states[resource] = previous[resource]


def typed_copy(state: State) -> State:
    """Return a copy of the state of sources in typed JSON, without empty states, which reading creates."""
    non_empty: State = {}
    for name, source in state.get(_SOURCES, {}).items():
        resources = {key: value for key, value in source.get(_RESOURCES, {}).items() if value}
        rest = {key: value for key, value in source.items() if key != _RESOURCES}
        source_state = {**rest, _RESOURCES: resources} if resources else rest
        if source_state:
            non_empty[name] = source_state
    copy: State = to_typed(non_empty)
    return copy


def _resource_states(state: State, source_name: str) -> State:
    states: State = state.get(_SOURCES, {}).get(source_name, {}).get(_RESOURCES, {})
    return states
