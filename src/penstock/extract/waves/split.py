"""Which streams of a flow go to the executors, and which the driver reads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from penstock.config import in_scope
from penstock.extract.waves.driver import on_driver
from penstock.extract.waves.identity import identity_of
from penstock.extract.waves.spool import Spool
from penstock.interfaces.source import Stream

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.interfaces.source import Flow
    from penstock.interfaces.work import Bound, Work


@dataclass(frozen=True, slots=True, kw_only=True)
class WaveWork:
    """A resource whose items are to be shared out, and what its finished waves are known by."""

    stream: Stream
    bound: Bound
    identity: str
    spool: Spool | None = None
    """Where the items are that the engine has read for it; None where they are declared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """A flow in two: what the engine reads, and what runs in waves."""

    here: Flow
    there: tuple[WaveWork, ...] = ()


def split(flow: Flow, *, ships: bool) -> Split:
    """Take the streams out that can run on executors; `ships` is whether anything can go there.

    A stream that feeds a transformer stays: its items are wanted here.
    """
    feeding = {stream.parent for stream in flow.streams if stream.parent is not None}
    feeding |= {one.parent for stream in feeding for one in stream.chain() if one.parent is not None}
    works = {
        stream: _wave_work(flow, stream, stream.work)
        for stream in flow.streams
        if ships and stream.work and stream not in feeding
    }
    there = tuple(works.values())
    staying = tuple(
        _collecting(stream, works[stream].spool) if stream in works else stream
        for stream in flow.streams
        if stream not in works or stream.parent is not None
    )
    return Split(here=on_driver(replace(flow, streams=staying)), there=there)


def _wave_work(flow: Flow, stream: Stream, work: Work) -> WaveWork:
    """A stream of work items with its arguments, which are asked for in the sections of its source."""
    with in_scope(sections=flow.sections):
        bound = work.bound()
    identity = identity_of(flow.name, stream, bound, flow.refresh)
    if work.cut is None:
        return WaveWork(stream=stream, bound=bound, identity=identity)
    spool = Spool()
    taking = replace(stream, parent=None, before=(), work=replace(work, items=spool.items))
    return WaveWork(stream=taking, bound=bound, identity=identity, spool=spool)


def _collecting(stream: Stream, spool: Spool | None) -> Stream:
    """A transformer that only keeps what it is to work on: that is done when all of it is there."""
    cut = stream.work.cut if stream.work else None

    def keep(item: Any, mark: Any) -> Iterator[Any]:
        for one in cut(item) if cut else ():
            if spool is not None:
                spool.add(one)
        return iter(())

    return Stream(
        name=stream.name, open=keep, parent=stream.parent, before=stream.before, resource=stream.resource
    )
