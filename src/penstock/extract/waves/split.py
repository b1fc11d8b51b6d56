"""Which streams of a flow go to the executors, and which the driver reads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from penstock.config import in_scope
from penstock.extract.waves.driver import on_driver
from penstock.extract.waves.identity import identity_of

if TYPE_CHECKING:
    from penstock.interfaces.source import Flow, Stream
    from penstock.interfaces.work import Bound, Work


@dataclass(frozen=True, slots=True, kw_only=True)
class WaveWork:
    """A resource whose items are to be shared out, and what its finished waves are known by."""

    stream: Stream
    bound: Bound
    identity: str


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
    there = tuple(
        _wave_work(flow, stream, stream.work)
        for stream in flow.streams
        if ships and stream.work and stream not in feeding
    )
    leaving = {work.stream for work in there}
    staying = tuple(stream for stream in flow.streams if stream not in leaving)
    return Split(here=on_driver(replace(flow, streams=staying)), there=there)


def _wave_work(flow: Flow, stream: Stream, work: Work) -> WaveWork:
    """A stream of work items with its arguments, which are asked for in the sections of its source."""
    with in_scope(sections=flow.sections):
        bound = work.bound()
    return WaveWork(stream=stream, bound=bound, identity=identity_of(flow.name, stream, bound, flow.refresh))
