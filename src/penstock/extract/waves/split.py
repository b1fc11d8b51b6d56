"""The division of a flow into streams for executors and streams for the driver."""

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
    """A resource that runs on executors, with the identity of its checkpoints."""

    stream: Stream
    bound: ItemFunction
    identity: str
    spool: Spool | None = None
    """The file of the work items that the engine reads for it; None if its items are declared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowSplit:
    """The two parts of a flow: streams that the engine reads, and resources that run in waves."""

    driver_flow: Flow
    wave_resources: tuple[WaveResource, ...] = ()


def split_flow(flow: Flow, *, on_executors: bool) -> FlowSplit:
    """Separate the streams that can run on executors; none without `on_executors`.

    The driver reads a stream that feeds a transformer, because it needs the items.
    """
    feeding = {stream.parent for stream in flow.streams if stream.parent is not None}
    feeding |= {
        ancestor.parent for stream in feeding for ancestor in stream.chain() if ancestor.parent is not None
    }
    wave_resources = {
        stream: _wave_resource(flow, stream, stream.work)
        for stream in flow.streams
        if on_executors and stream.work and stream not in feeding
    }
    driver_streams = tuple(
        _spooling_stream(stream, wave_resources[stream].spool) if stream in wave_resources else stream
        for stream in flow.streams
        if stream not in wave_resources or stream.parent is not None
    )
    return FlowSplit(
        driver_flow=as_driver_flow(replace(flow, streams=driver_streams)),
        wave_resources=tuple(wave_resources.values()),
    )


def _wave_resource(flow: Flow, stream: Stream, work: WorkItemSpec) -> WaveResource:
    """Resolve the arguments of a stream of work items, in the settings sections of its source."""
    with in_scope(sections=flow.sections):
        bound = work.resolve_function()
    identity = wave_identity(flow.name, stream, bound, flow.refresh)
    if work.split is None:
        return WaveResource(stream=stream, bound=bound, identity=identity)
    spool = Spool()
    detached = replace(stream, parent=None, parent_steps=(), work=replace(work, items=spool.items))
    return WaveResource(stream=detached, bound=bound, identity=identity, spool=spool)


def _spooling_stream(stream: Stream, spool: Spool | None) -> Stream:
    """Return a transformer that writes its work items to a spool, for waves after the engine is done."""
    split = stream.work.split if stream.work else None

    def add_to_spool(item: Any, mark: Any) -> Iterator[Any]:
        for work_item in split(item) if split else ():
            if spool is not None:
                spool.add(work_item)
        return iter(())

    return Stream(
        name=stream.name,
        open=add_to_spool,
        parent=stream.parent,
        parent_steps=stream.parent_steps,
        resource=stream.resource,
    )


def wave_identity(
    source_name: str | None, stream: Stream, bound: ItemFunction, refresh: str | None = None
) -> str:
    """Return a hash of the names of source, resource and function, and of the arguments.

    A refresh has a different identity, so earlier waves are not reused. Secrets are masked, because a token
    may differ in each run. An argument without a JSON form is represented by its type.
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
    """A temporary file of work items, which can be read in order any number of times."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._file: IO[str] | None = None

    def add(self, item: Any) -> None:
        """Add an item; raise an error if it has no JSON form."""
        line = json.dumps(to_typed(to_work_item(item).value))
        with self._lock, translate_disk_full(tempfile.gettempdir()):
            if self._file is None:
                self._file = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 - kept open
            self._file.write(line + "\n")

    def items(self) -> Iterator[Any]:
        """Yield all items so far."""
        with self._lock, translate_disk_full(tempfile.gettempdir()):
            file = self._file
            if file is None:
                return
            file.flush()
            file.seek(0)
        for line in file:
            yield from_typed(json.loads(line))

    def clear(self) -> None:
        """Delete the file."""
        with self._lock:
            if self._file is not None:
                self._file.close()
            self._file = None
