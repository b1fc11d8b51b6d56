"""Work items on the driver: the engine reads them like items of a parallel transformer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from penstock.errors import UsageError
from penstock.extract.waves.items import iter_work_items
from penstock.interfaces.pace import Pacer
from penstock.interfaces.source import Limit, Stream

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.interfaces.source import Flow
    from penstock.interfaces.work_items import WorkItemSpec


def as_driver_flow(flow: Flow) -> Flow:
    """Return the flow with work items as parent streams of their resources."""
    built: dict[Stream, Stream] = {}

    def build(stream: Stream) -> Stream:
        if stream not in built:
            parent = None if stream.parent is None else build(stream.parent)
            with_parent = replace(stream, parent=parent)
            built[stream] = _as_transformer(with_parent) if stream.work else with_parent
        return built[stream]

    has_work = any(ancestor.work for stream in flow.streams for ancestor in stream.chain())
    return replace(flow, streams=tuple(map(build, flow.streams))) if has_work else flow


def item_limit(stream: Stream) -> Limit | None:
    """Return the limit of a resource with work items: it counts work items, not rows."""
    if stream.limit is not None and stream.limit.count_rows:
        raise UsageError(
            f"{stream.name} has work items, so its rows cannot be limited",
            hint="limit the work items: add_limit(max_items=...) without count_rows",
        )
    return stream.limit


def _as_transformer(stream: Stream) -> Stream:
    work = stream.work
    if work is None:
        return stream
    if work.split is not None:
        return replace(stream, open=_call_for_each(stream.open, work.split), work=None)
    items = Stream(
        name=stream.name,
        open=lambda: _paced_values(work),
        limit=item_limit(stream),
        selected=False,
        parallel=True,
        resource=stream.resource,
    )
    pacer = _pacer(work)
    call = stream.open if pacer is None else _with_pacing(stream.open, pacer)
    return replace(stream, parent=items, open=call, limit=None, parallel=True)


def _pacer(work: WorkItemSpec) -> Pacer | None:
    """Return a pacer for the calls; None without a rate, or if the function paces itself."""
    return None if work.rate is None or work.paces_itself else Pacer(work.rate.seconds / work.rate.calls)


def _paced_values(work: WorkItemSpec) -> Iterator[Any]:
    # Paced here too, so that calls do not wait in threads that other resources need.
    pacer = _pacer(work)
    for item in iter_work_items(work.items):
        if pacer is not None:
            pacer.wait()
        yield item.value


def _call_for_each(call: Callable[..., Any], split: Callable[[Any], Iterable[Any]]) -> Callable[..., Any]:
    """Return a function that calls for every work item of a parent's item."""

    def call_for_each(item: Any, mark: Any) -> Iterator[Any]:
        for work_item in split(item):
            yield from call(work_item, mark)

    return call_for_each


def _with_pacing(call: Callable[..., Any], pacer: Pacer) -> Callable[..., Any]:
    """Return a function that waits and calls when the first row is read, as a generator runs."""

    def paced(item: Any, mark: Any) -> Iterator[Any]:
        pacer.wait()
        result = call(item, mark)
        if isinstance(result, Iterator):
            yield from result
        else:
            yield result

    return paced
