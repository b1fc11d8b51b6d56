"""Which streams of a flow go to the executors, and which the driver reads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from penstock.config import in_scope
from penstock.extract.waves.driver import as_driver_flow
from penstock.extract.waves.identity import wave_identity
from penstock.extract.waves.spool import Spool
from penstock.interfaces.source import Stream

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.interfaces.source import Flow
    from penstock.interfaces.work_items import ItemFunction, WorkItemSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class WaveResource:
    """A resource whose items are to be shared out, and what its finished waves are known by."""

    stream: Stream
    bound: ItemFunction
    identity: str
    spool: Spool | None = None
    """Where the items are that the engine has read for it; None where they are declared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowSplit:
    """A flow in two: what the engine reads, and what runs in waves."""

    driver_flow: Flow
    wave_resources: tuple[WaveResource, ...] = ()


def split_flow(flow: Flow, *, on_executors: bool) -> FlowSplit:
    """Take the streams out that can run on executors; `ships` is whether anything can go there.

    A stream that feeds a transformer stays: its items are wanted here.
    """
    feeding = {stream.parent for stream in flow.streams if stream.parent is not None}
    feeding |= {one.parent for stream in feeding for one in stream.chain() if one.parent is not None}
    works = {
        stream: _wave_resource(flow, stream, stream.work)
        for stream in flow.streams
        if on_executors and stream.work and stream not in feeding
    }
    there = tuple(works.values())
    staying = tuple(
        _spooling_stream(stream, works[stream].spool) if stream in works else stream
        for stream in flow.streams
        if stream not in works or stream.parent is not None
    )
    return FlowSplit(driver_flow=as_driver_flow(replace(flow, streams=staying)), wave_resources=there)


def _wave_resource(flow: Flow, stream: Stream, work: WorkItemSpec) -> WaveResource:
    """A stream of work items with its arguments, which are asked for in the sections of its source."""
    with in_scope(sections=flow.sections):
        bound = work.resolve_function()
    identity = wave_identity(flow.name, stream, bound, flow.refresh)
    if work.split is None:
        return WaveResource(stream=stream, bound=bound, identity=identity)
    spool = Spool()
    taking = replace(stream, parent=None, parent_steps=(), work=replace(work, items=spool.items))
    return WaveResource(stream=taking, bound=bound, identity=identity, spool=spool)


def _spooling_stream(stream: Stream, spool: Spool | None) -> Stream:
    """A transformer that only keeps what it is to work on: that is done when all of it is there."""
    cut = stream.work.split if stream.work else None

    def keep(item: Any, mark: Any) -> Iterator[Any]:
        for one in cut(item) if cut else ():
            if spool is not None:
                spool.add(one)
        return iter(())

    return Stream(
        name=stream.name,
        open=keep,
        parent=stream.parent,
        parent_steps=stream.parent_steps,
        resource=stream.resource,
    )
