"""Declarations become streams: what extract is given, with everything bound that can be."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from penstock.config import read_settings
from penstock.errors import ResourceUnbound
from penstock.interfaces.source import Stream
from penstock.interfaces.work import Work
from penstock.sources.call import Opener
from penstock.sources.cursors import OwnCursor, with_cursors
from penstock.sources.section import sections_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from penstock.sources.declaration import Declaration


class Readable(Protocol):
    """A resource, as far as it is read here."""

    @property
    def parent(self) -> Any:
        """What a transformer takes its items from: another of these, or None."""

    declaration: Declaration


def streams_of(chosen: Iterable[Readable]) -> tuple[Stream, ...]:
    """The streams of these resources; what feeds two of them is one, and is only loaded if it is chosen."""
    wanted = list(chosen)
    return _Builder(frozenset(map(id, wanted))).streams(wanted)


class _Builder:
    def __init__(self, chosen: frozenset[int]) -> None:
        self._chosen = chosen
        self._built: dict[int, Stream] = {}
        # Read once for all resources, when the first of them wants an argument.
        self._settings = cache(read_settings)

    def streams(self, resources: Iterable[Readable]) -> tuple[Stream, ...]:
        return tuple(self._stream(resource) for resource in resources)

    def _stream(self, resource: Readable) -> Stream:
        if id(resource) not in self._built:
            self._built[id(resource)] = self._build(resource)
        return self._built[id(resource)]

    def _build(self, resource: Readable) -> Stream:
        said = resource.declaration
        if said.is_transformer and resource.parent is None:
            raise ResourceUnbound(resource=said.name, missing="the resource it takes items from")
        sections = sections_of(said.section, said.name)
        cursor = OwnCursor(
            said.call,
            said.hints,
            resource=said.name,
            sections=sections,
            settings=self._settings,
        )
        opener = self._opener(said, cursor, sections)
        return Stream(
            name=said.name,
            open=opener,
            parent=None if resource.parent is None else self._stream(resource.parent),
            before=said.before,
            steps=with_cursors(said.steps, cursor, key=said.hints.primary_key),
            limit=said.limit,
            hints=replace(said.hints, incremental=cursor.declared),
            variants=said.variants,
            tables=said.tables,
            selected=id(resource) in self._chosen,
            parallel=said.parallel,
            resource=resource,
            work=_work(said, opener),
            needs=said.needs,
        )

    def _opener(self, said: Declaration, cursor: OwnCursor, sections: tuple[str, ...]) -> Callable[..., Any]:
        if said.call is None:
            return lambda: said.data
        return said.call.opener(
            resource=said.name,
            sections=sections,
            settings=self._settings,
            cursor=lambda: {cursor.parameter.name: cursor()} if cursor.parameter else {},
        )


def _work(said: Declaration, opener: Callable[..., Any]) -> Work | None:
    has_items = said.work_items is not None or said.cut is not None
    if not has_items or not isinstance(opener, Opener):
        return None
    return Work(
        items=said.work_items,
        bound=opener.bound,
        rate=said.rate,
        cut=said.cut,
        paces_itself=said.paces_itself,
        modules=said.modules,
    )
