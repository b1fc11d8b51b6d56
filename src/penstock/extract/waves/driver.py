"""Work items on the driver: the engine reads them as those of a transformer, in its threads."""

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
    """The flow with every stream of work items taking them from a stream of its own."""
    built: dict[Stream, Stream] = {}

    def made(stream: Stream) -> Stream:
        if stream not in built:
            parent = None if stream.parent is None else made(stream.parent)
            above = replace(stream, parent=parent)
            built[stream] = _as_transformer(above) if stream.work else above
        return built[stream]

    has_work = any(one.work for stream in flow.streams for one in stream.chain())
    return replace(flow, streams=tuple(map(made, flow.streams))) if has_work else flow


def item_limit(stream: Stream) -> Limit | None:
    """The limit of a resource with work items: it is one of items, not of what they give."""
    if stream.limit is not None and stream.limit.count_rows:
        raise UsageError(
            f"{stream.name} has work items, and rows are not counted before they are there",
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
    """One that lets calls through; none where the function paces itself."""
    return None if work.rate is None or work.paces_itself else Pacer(work.rate.seconds / work.rate.calls)


def _paced_values(work: WorkItemSpec) -> Iterator[Any]:
    # Given out no faster than they may be called, so that they do not wait in threads that others need.
    pacer = _pacer(work)
    for item in iter_work_items(work.items):
        if pacer is not None:
            pacer.wait()
        yield item.value


def _call_for_each(call: Callable[..., Any], cut: Callable[[Any], Iterable[Any]]) -> Callable[..., Any]:
    """Calls for every work item in what the parent gives."""

    def each(item: Any, mark: Any) -> Iterator[Any]:
        for one in cut(item):
            yield from call(one, mark)

    return each


def _with_pacing(call: Callable[..., Any], pacer: Pacer) -> Callable[..., Any]:
    """The call is made when the first row is asked for: that is when a generator begins to run."""

    def paced(item: Any, mark: Any) -> Iterator[Any]:
        pacer.wait()
        given = call(item, mark)
        if isinstance(given, Iterator):
            yield from given
        else:
            yield given

    return paced
