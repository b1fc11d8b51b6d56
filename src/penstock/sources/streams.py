"""Declarations become streams: what extract is given, with everything bound that can be."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from penstock.config import read_settings
from penstock.errors import ResourceUnbound
from penstock.interfaces.source import Stream
from penstock.interfaces.work_items import WorkItemSpec
from penstock.sources.resource_cursor import ResourceCursor, steps_with_cursor
from penstock.sources.section import sections_of
from penstock.sources.user_function import ConfiguredFunction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from penstock.sources.declaration import Declaration


class HasDeclaration(Protocol):
    """A resource, as far as it is read here."""

    @property
    def parent(self) -> Any:
        """What a transformer takes its items from: another of these, or None."""

    declaration: Declaration


def streams_of(resources: Iterable[HasDeclaration]) -> tuple[Stream, ...]:
    """The streams of these resources; what feeds two of them is one, and is only loaded if it is chosen."""
    wanted = list(resources)
    return _StreamBuilder(frozenset(map(id, wanted))).streams(wanted)


class _StreamBuilder:
    def __init__(self, selected_ids: frozenset[int]) -> None:
        self._selected_ids = selected_ids
        self._streams_by_id: dict[int, Stream] = {}
        # Read once for all resources, when the first of them wants an argument.
        self._settings = cache(read_settings)

    def streams(self, resources: Iterable[HasDeclaration]) -> tuple[Stream, ...]:
        return tuple(self._stream(resource) for resource in resources)

    def _stream(self, resource: HasDeclaration) -> Stream:
        if id(resource) not in self._streams_by_id:
            self._streams_by_id[id(resource)] = self._build(resource)
        return self._streams_by_id[id(resource)]

    def _build(self, resource: HasDeclaration) -> Stream:
        said = resource.declaration
        if said.is_transformer and resource.parent is None:
            raise ResourceUnbound(resource=said.name, missing="the resource it takes items from")
        sections = sections_of(said.section, said.name)
        cursor = ResourceCursor(
            said.user_function,
            said.hints,
            resource=said.name,
            sections=sections,
            settings=self._settings,
        )
        opener = self._open_function(said, cursor, sections)
        return Stream(
            name=said.name,
            open=opener,
            parent=None if resource.parent is None else self._stream(resource.parent),
            parent_steps=said.parent_steps,
            steps=steps_with_cursor(said.steps, cursor, key=said.hints.primary_key),
            limit=said.limit,
            hints=replace(said.hints, incremental=cursor.declared_cursor),
            variants=said.variants,
            tables=said.tables,
            selected=id(resource) in self._selected_ids,
            parallel=said.parallel,
            resource=resource,
            work=_work(said, opener),
            needs=said.needs,
        )

    def _open_function(
        self, declaration: Declaration, cursor: ResourceCursor, sections: tuple[str, ...]
    ) -> Callable[..., Any]:
        if declaration.user_function is None:
            return lambda: declaration.data
        return declaration.user_function.configured_function(
            resource=declaration.name,
            sections=sections,
            settings=self._settings,
            cursor_arguments=lambda: {cursor.parameter.name: cursor()} if cursor.parameter else {},
        )


def _work(declaration: Declaration, open_function: Callable[..., Any]) -> WorkItemSpec | None:
    has_items = declaration.work_items is not None or declaration.split is not None
    if not has_items or not isinstance(open_function, ConfiguredFunction):
        return None
    return WorkItemSpec(
        items=declaration.work_items,
        resolve_function=open_function.bound_function,
        rate=declaration.rate,
        split=declaration.split,
        paces_itself=declaration.paces_itself,
        modules=declaration.modules,
    )
