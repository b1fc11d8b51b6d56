"""The flows of the data passed to `run`: one for each source, and one for all data without a source."""

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
    """Return the flows of data. The hints apply to all resources and override their own.

    >>> def numbers():
    ...     yield from range(3)
    >>> [stream.name for flow in flows_of([Resource.from_data(numbers)]) for stream in flow.streams]
    ['numbers']
    """
    run_hints = make_hints(table_name=table_name, **hints)
    sources, resources = _split_sources(data, table_name)
    flows = [_source_flow(source, run_hints, schema) for source in sources]
    if resources:
        flows.append(_sourceless_flow(resources, run_hints, schema))
    for flow in flows:
        _check_not_exhausted(flow)
    mode = check_refresh(refresh)
    return tuple(replace(flow, contract=run_hints.schema_contract, refresh=mode) for flow in flows)


def _split_sources(data: Any, table_name: str | None) -> tuple[list[Source], list[Resource]]:
    """Return the sources in the data, and its resources without a source; other data becomes a resource."""
    is_list = isinstance(data, (list, tuple)) and any(
        isinstance(item, (DeclarationBase, SourceFactory)) for item in data
    )
    items = [_call_factory(item) for item in (data if is_list else [data])]
    sources = [item for item in items if isinstance(item, Source)]
    return sources, [
        item if isinstance(item, Resource) else Resource.from_data(item, name=table_name)
        for item in items
        if not isinstance(item, Source)
    ]


def _call_factory(data: Any) -> Any:
    return data() if isinstance(data, SourceFactory) else data


def _source_flow(source: Source, hints: TableHints, schema: Schema | None) -> Flow:
    copy = source.clone()
    if schema is not None:
        copy.schema = schema.clone()
    _apply_hints(hints, copy.selected_resources.values())
    return copy.flow()


def _sourceless_flow(resources: list[Resource], hints: TableHints, schema: Schema | None) -> Flow:
    copies = ResourceCopies().copy_all(resources)
    _apply_hints(hints, copies)
    return Flow(
        name=schema.name if schema else None,
        schema=schema.stored if schema else None,
        streams=streams_of(resource for resource in copies if resource.selected),
    )


def _apply_hints(hints: TableHints, resources: Iterable[Resource]) -> None:
    if hints.to_dict():
        for resource in resources:
            resource.merge_hints(hints)


def _check_not_exhausted(flow: Flow) -> None:
    for selected in flow.streams:
        for stream in selected.chain():
            if stream.resource.exhausted:
                raise SourceExhausted(resource=stream.name)
