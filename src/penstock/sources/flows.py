"""What a user hands to `run` becomes flows: one for each source, and one for all that came without."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from penstock.errors import SourceExhausted
from penstock.interfaces.hints import TableHints, make_hints
from penstock.interfaces.refresh import check_refresh
from penstock.interfaces.source import DeclarationBase, Flow
from penstock.sources.factory import SourceFactory
from penstock.sources.resource import Resource
from penstock.sources.resource_dict import ResourceCopies
from penstock.sources.source import Source
from penstock.sources.streams import streams_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.schema import Schema


def flows_of(
    data: Any,
    *,
    table_name: str | None = None,
    schema: Schema | None = None,
    refresh: str | None = None,
    **hints: Any,
) -> tuple[Flow, ...]:
    """Sort data into flows. Hints are those of every resource in it, over what they say themselves.

    >>> def numbers():
    ...     yield from range(3)
    >>> [stream.name for flow in flows_of([Resource.from_data(numbers)]) for stream in flow.streams]
    ['numbers']
    """
    said = make_hints(table_name=table_name, **hints)
    sources, loose = _split_sources(data, table_name)
    flows = [_source_flow(source, said, schema) for source in sources]
    if loose:
        flows.append(_sourceless_flow(loose, said, schema))
    for flow in flows:
        _check_not_exhausted(flow)
    mode = check_refresh(refresh)
    return tuple(replace(flow, contract=said.schema_contract, refresh=mode) for flow in flows)


def _split_sources(data: Any, table_name: str | None) -> tuple[list[Source], list[Resource]]:
    """Sources, and resources without one; what is neither becomes a resource, if it can."""
    many = isinstance(data, (list, tuple)) and any(
        isinstance(one, (DeclarationBase, SourceFactory)) for one in data
    )
    given = [_call_factory(one) for one in (data if many else [data])]
    sources = [one for one in given if isinstance(one, Source)]
    rest = [one for one in given if not isinstance(one, Source)]
    return sources, [
        one if isinstance(one, Resource) else Resource.from_data(one, name=table_name) for one in rest
    ]


def _call_factory(data: Any) -> Any:
    return data() if isinstance(data, SourceFactory) else data


def _source_flow(source: Source, hints: TableHints, schema: Schema | None) -> Flow:
    own = source.clone()
    if schema is not None:
        own.schema = schema.clone()
    _apply_hints(hints, own.selected_resources.values())
    return own.flow()


def _sourceless_flow(resources: list[Resource], hints: TableHints, schema: Schema | None) -> Flow:
    own = ResourceCopies().copy_all(resources)
    _apply_hints(hints, own)
    return Flow(
        name=schema.name if schema else None,
        schema=schema.stored if schema else None,
        streams=streams_of(one for one in own if one.selected),
    )


def _apply_hints(hints: TableHints, resources: Iterable[Resource]) -> None:
    if hints.to_dict():
        for resource in resources:
            resource.merge_hints(hints)


def _check_not_exhausted(flow: Flow) -> None:
    for stream in flow.streams:
        for one in stream.chain():
            if one.resource.exhausted:
                raise SourceExhausted(resource=one.name)
