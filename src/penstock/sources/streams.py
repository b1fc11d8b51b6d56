"""The streams that extract reads, built from declarations."""

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
    """The part of a resource that streams are built from."""

    @property
    def parent(self) -> Any:
        """The resource that feeds a transformer, or None."""

    declaration: Declaration


def streams_of(resources: Iterable[HasDeclaration]) -> tuple[Stream, ...]:
    """Return the streams of these resources; a shared parent is one stream, loaded only if it is listed."""
    selected = list(resources)
    return _StreamBuilder(frozenset(map(id, selected))).streams(selected)


class _StreamBuilder:
    def __init__(self, selected_ids: frozenset[int]) -> None:
        self._selected_ids = selected_ids
        self._streams_by_id: dict[int, Stream] = {}
        # Read once for all resources, when the first one needs an argument.
        self._settings = cache(read_settings)

    def streams(self, resources: Iterable[HasDeclaration]) -> tuple[Stream, ...]:
        return tuple(self._stream(resource) for resource in resources)

    def _stream(self, resource: HasDeclaration) -> Stream:
        if id(resource) not in self._streams_by_id:
            self._streams_by_id[id(resource)] = self._build(resource)
        return self._streams_by_id[id(resource)]

    def _build(self, resource: HasDeclaration) -> Stream:
        declaration = resource.declaration
        if declaration.is_transformer and resource.parent is None:
            raise ResourceUnbound(resource=declaration.name, missing="the resource that feeds it")
        sections = sections_of(declaration.section, declaration.name)
        cursor = ResourceCursor(
            declaration.user_function,
            declaration.hints,
            resource=declaration.name,
            sections=sections,
            settings=self._settings,
        )
        open_function = self._open_function(declaration, cursor, sections)
        return Stream(
            name=declaration.name,
            open=open_function,
            parent=None if resource.parent is None else self._stream(resource.parent),
            parent_steps=declaration.parent_steps,
            steps=steps_with_cursor(declaration.steps, cursor, key=declaration.hints.primary_key),
            limit=declaration.limit,
            hints=replace(declaration.hints, incremental=cursor.declared_cursor),
            variants=declaration.variants,
            tables=declaration.tables,
            selected=id(resource) in self._selected_ids,
            parallel=declaration.parallel,
            resource=resource,
            work=_work_item_spec(declaration, open_function),
            needs=declaration.needs,
            expectations=declaration.expectations,
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


def _work_item_spec(declaration: Declaration, open_function: Callable[..., Any]) -> WorkItemSpec | None:
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
