"""Dropping of single resources: their tables and their state, by a package without rows."""

from __future__ import annotations

import re
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypedDict

from penstock.errors import UsageError
from penstock.extract.source_state import reset_refreshed, typed_copy
from penstock.interfaces import Refresh
from penstock.package.extract_manifest import ExtractManifest
from penstock.pipeline.rowless_package import save_rowless_package
from penstock.schema.defaults import SYSTEM_PREFIX

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.package import Packages
    from penstock.package.lease import LeaseTimes
    from penstock.pipeline.state import State
    from penstock.schema import Schema, Table

_SOURCES, _RESOURCES, _PATTERN_PREFIX = "sources", "resources", "re:"
_PENDING_HINT: Final = "load them with run(), or drop them with abort_packages(), then drop the resources"


class ResourceDropDocument(TypedDict):
    """The resources that are dropped, with what they lose, as plain data."""

    schema_name: str
    resources: list[str]
    tables: list[str]
    resource_states: list[str]
    """Resources whose state is deleted."""
    state_paths: list[str]
    """Keys of the state of the source that are deleted."""
    unmatched: list[str]
    """Names, patterns and paths to which nothing belongs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceDrop:
    """The resources of one schema that are dropped, with what they lose."""

    schema_name: str
    resources: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    """Tables that are dropped, nested ones too."""
    resource_states: tuple[str, ...] = ()
    """Resources whose state is deleted."""
    state_paths: tuple[str, ...] = ()
    """Keys of the state of the source that are deleted."""
    unmatched: tuple[str, ...] = ()
    """Names, patterns and paths to which nothing belongs."""
    is_all: bool = False
    """Whether all tables of the schema are dropped."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing is dropped."""
        return not (self.tables or self.resource_states or self.state_paths)

    @property
    def refresh(self) -> Refresh:
        """The refresh that drops the resources."""
        return Refresh(mode="drop_sources" if self.is_all else "drop_resources", resources=self.resources)

    def asdict(self) -> dict[str, Any]:
        """Return plain data."""
        document: ResourceDropDocument = {
            "schema_name": self.schema_name,
            "resources": list(self.resources),
            "tables": list(self.tables),
            "resource_states": list(self.resource_states),
            "state_paths": list(self.state_paths),
            "unmatched": list(self.unmatched),
        }
        return dict(document)

    def state_after(self, state: State) -> State:
        """Return a copy of the state without what is dropped."""
        remaining = deepcopy(state)
        source = remaining.get(_SOURCES, {}).get(self.schema_name, {})
        for path in self.state_paths:
            *parents, key = path.split(".")
            _nested(source, parents).pop(key, None)
        dropped = Refresh(mode="drop_resources", resources=self.resource_states)
        reset_refreshed(remaining, self.schema_name, dropped)
        return remaining


def plan_drop(
    schema: Schema,
    state: Mapping[str, Any],
    *,
    resources: Sequence[str] = (),
    drop_all: bool = False,
    state_paths: Sequence[str] = (),
    state_only: bool = False,
) -> ResourceDrop:
    """Return what is dropped: resources by name or by pattern, as in `re:^repo_`, and keys of the state.

    >>> from penstock.schema import Schema
    >>> state = {"sources": {"shop": {"cursor": 7, "resources": {"items": {"page": 3}}}}}
    >>> plan_drop(Schema("shop"), state, resources=["re:it"], state_paths=["cursor"]).asdict()["state_paths"]
    ['cursor']
    """
    source: Mapping[str, Any] = state.get(_SOURCES, {}).get(schema.name, {})
    states = source.get(_RESOURCES, {})
    names = sorted({*_resources_with_tables(schema.tables), *states})
    selected = [name for name in names if drop_all or any(_matches(pattern, name) for pattern in resources)]
    found_paths = [path for path in state_paths if _has_path(source, path)]
    plan = ResourceDrop(
        schema_name=schema.name,
        resources=tuple(selected),
        resource_states=tuple(name for name in selected if states.get(name)),
        state_paths=tuple(found_paths),
        unmatched=(
            *(pattern for pattern in resources if not any(_matches(pattern, name) for name in names)),
            *(path for path in state_paths if path not in found_paths),
        ),
        is_all=drop_all,
    )
    if state_only:
        return plan
    tables = [
        name for name in plan.refresh.affected_tables(schema.tables) if schema.tables[name].has_seen_data
    ]
    return replace(plan, tables=tuple(tables))


def save_as_package(
    plan: ResourceDrop, state: State, packages: Packages, *, pipeline_name: str, lease_times: LeaseTimes
) -> str:
    """Save a package whose load drops the resources; return its id. Refused while packages are pending."""
    manifest = ExtractManifest(
        schema_name=plan.schema_name,
        state=typed_copy(plan.state_after(state)),
        refresh=plan.refresh if plan.tables else None,
    )
    return save_rowless_package(
        lambda _: manifest, packages, pipeline_name=pipeline_name, lease_times=lease_times, hint=_PENDING_HINT
    )


def _resources_with_tables(tables: Mapping[str, Table]) -> list[str]:
    return [
        table.resource or table.name
        for table in tables.values()
        if not table.is_nested and not table.name.startswith(SYSTEM_PREFIX)
    ]


def _matches(pattern: str, name: str) -> bool:
    if not pattern.startswith(_PATTERN_PREFIX):
        return pattern == name
    expression = pattern.removeprefix(_PATTERN_PREFIX)
    try:
        return re.match(expression, name) is not None
    except re.error as error:
        raise UsageError(
            f"{pattern!r} is no pattern: {error}", hint="write a name, or re:^prefix_"
        ) from error


def _has_path(source: Mapping[str, Any], path: str) -> bool:
    *parents, key = path.split(".")
    return key in _nested(source, parents)


def _nested(source: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    """Return the dict below these keys; an empty one if there is none."""
    value: Any = source
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}
