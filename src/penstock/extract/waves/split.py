"""Which streams of a flow go to the executors, and which the driver reads."""

from __future__ import annotations

import hashlib
import json
import tempfile
import threading
from dataclasses import dataclass, replace
from typing import IO, TYPE_CHECKING, Any

from penstock.config import in_scope, redact
from penstock.errors import UsageError, translate_disk_full
from penstock.extract.waves.driver import as_driver_flow
from penstock.extract.waves.items import to_work_item
from penstock.interfaces.source import Stream
from penstock.package.typed_json import from_typed, to_typed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.interfaces.source import Flow
    from penstock.interfaces.work_items import ItemFunction, WorkItemSpec

_IDENTITY_DIGITS = 16


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


def wave_identity(
    source_name: str | None, stream: Stream, bound: ItemFunction, refresh: str | None = None
) -> str:
    """A name for the resource: of its source, itself, its function and its arguments.

    One that begins anew is another one: what was done before that does not count.

    Secrets do not count: a token may be another one each time. Of arguments that have no JSON form the type
    counts.
    """
    arguments = [_argument_text(argument) for argument in (*bound.args, *sorted(bound.kwargs.items()))]
    function = getattr(bound.function, "__qualname__", type(bound.function).__qualname__)
    text = json.dumps([source_name, stream.name, function, arguments, *([refresh] if refresh else [])])
    return hashlib.sha256(text.encode()).hexdigest()[:_IDENTITY_DIGITS]


def _argument_text(argument: Any) -> str:
    try:
        return redact(json.dumps(to_typed(argument), sort_keys=True))
    except (UsageError, ValueError, RecursionError):
        return type(argument).__qualname__


class Spool:
    """Takes items one by one, and gives them back in their order, as often as they are asked for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._file: IO[str] | None = None

    def add(self, item: Any) -> None:
        """Take an item; refused where it could not travel."""
        line = json.dumps(to_typed(to_work_item(item).value))
        with self._lock, translate_disk_full(tempfile.gettempdir()):
            if self._file is None:
                self._file = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 - kept open
            self._file.write(line + "\n")

    def items(self) -> Iterator[Any]:
        """All items so far."""
        with self._lock, translate_disk_full(tempfile.gettempdir()):
            file = self._file
            if file is None:
                return
            file.flush()
            file.seek(0)
        for line in file:
            yield from_typed(json.loads(line))

    def clear(self) -> None:
        """Forget them: they are done."""
        with self._lock:
            if self._file is not None:
                self._file.close()
            self._file = None
