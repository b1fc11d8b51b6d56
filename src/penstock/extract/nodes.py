"""The streams of a flow while they are read: who feeds whom, and what each item has to pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.errors import DatabaseNotReachable, DatabaseNotRead, PenstockError, ResourceFailed
from penstock.extract.answers import answer_of
from penstock.extract.cursor.native import CursorHook
from penstock.extract.cursor.tracker import Tracker
from penstock.extract.gate import Gate
from penstock.extract.steps import stage_of
from penstock.interfaces.current import change_in, context_with

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextvars import Context

    from penstock.extract.cursor.cursors import Cursors
    from penstock.extract.steps import Stage
    from penstock.interfaces.landing import FrameHook
    from penstock.interfaces.source import Flow, Step, Stream


@dataclass(frozen=True, slots=True)
class Parallel:
    """A stage that runs in a thread."""

    stage: Stage


class Node:
    """One stream: its stages, its context, and the streams that take their items from it."""

    __slots__ = (
        *("_closed", "_cursor_at", "_enough", "_is_given_up", "_parent", "children", "context", "gate"),
        *("metrics", "stages", "stream", "taken", "wanted"),
    )

    def __init__(self, stream: Stream, cursors: Cursors, parent: Node | None = None) -> None:
        self.stream = stream
        self.metrics: dict[str, Any] = {}
        # The body of a generator runs in the context of whoever asks for the next item: always in this one.
        self.context: Context = context_with(
            resource_name=stream.name, resource=stream.resource, metrics=self.metrics
        )
        self.stages: tuple[Stage | Parallel, ...] = self._stages(cursors)
        self._cursor_at = next((at for at, one in enumerate(self.stages) if isinstance(one, Tracker)), None)
        self.gate = Gate(stream.limit) if stream.limit else None
        self.children: list[Node] = []
        self._parent = parent
        if parent is not None:
            parent.children.append(self)
        self.wanted, self.taken = stream.selected, 0
        self._closed = self._enough = self._is_given_up = False

    @property
    def is_plain(self) -> bool:
        """Whether its items go straight to its table."""
        return not (self.stages or self.children or self.gate) and self.wanted

    @property
    def name(self) -> str:
        """The name of the resource."""
        return self.stream.name

    def close(self) -> None:
        """Take no more items: there is enough."""
        self._closed = True

    def stop(self) -> None:
        """Ask the source for no more items; what it has given already goes on."""
        self._enough = not self.stream.is_transformer

    def give_up(self) -> Iterator[Node]:
        """Take no more items, here and in what this feeds; what only fed this is not read any more either."""
        self._closed = self._is_given_up = True
        yield self
        for child in self.children:
            yield from child.give_up()
        above = self._parent
        if above is not None and not above.wanted and all(child.is_closed() for child in above.children):
            above.close()

    def move(self, **changes: Any) -> None:
        """Change what user code is told of the moment."""
        change_in(self.context, **changes)

    def is_past_cursor(self, at: int) -> bool:
        """Whether an item that has come so far was counted by a cursor: it must not be dropped."""
        return self._cursor_at is not None and at > self._cursor_at

    def is_closed(self, at: int = 0, *, is_root: bool = False) -> bool:
        """Whether no more items are taken that have come so far."""
        if self._is_given_up or (is_root and self._enough):
            return True
        return self._closed and not self.is_past_cursor(at)

    def may_draw(self, at: int, *, is_root: bool) -> bool:
        """Whether the next item is wanted of a generator whose items go on from there."""
        if self.is_closed(at, is_root=is_root):
            return False
        return self.gate is None or self.is_past_cursor(at) or self.gate.is_open()

    def _stages(self, cursors: Cursors) -> tuple[Stage | Parallel, ...]:
        steps = tuple(self._stage(step, cursors) for step in self.stream.steps)
        if not self.stream.is_transformer:
            return steps
        before = tuple(self._stage(step, cursors) for step in self.stream.before)
        head: Stage = self.stream.open
        return (*before, Parallel(head) if self.stream.parallel else head, *steps)

    def _stage(self, step: Step, cursors: Cursors) -> Stage:
        cursor = step.function() if step.kind == "incremental" else None
        if cursor is None:
            return stage_of(step, self.metrics)
        return cursors.track(cursor, resource=self.name, close=self.stop, is_loaded=self.stream.selected)

    @property
    def frame_hook(self) -> FrameHook | None:
        """What looks at DataFrames while they are written: its cursors, if it has any."""
        trackers = [stage for stage in self.stages if isinstance(stage, Tracker)]
        return CursorHook(trackers) if trackers else None

    def run(self, function: Callable[..., Any], *args: Any, number: int | None = None) -> Any:
        """Call a user's function in the context of the resource; its errors are named here, once."""
        try:
            return self.context.run(function, *args)
        except Exception as error:
            # The cause is chained already; `from` would take it away from errors of our own.
            raise self.failure(error, self.taken if number is None else number)  # noqa: B904

    def failure(self, error: Exception, number: int) -> PenstockError:
        """The error that names the resource and the item; our own are good as they are."""
        if isinstance(error, DatabaseNotRead | DatabaseNotReachable) and error.resource is None:
            told = type(error)(database=error.database, reason=error.reason, resource=self.name)
            told.__cause__ = error.__cause__
            return told.with_traceback(error.__traceback__)
        if isinstance(error, PenstockError):
            return error
        named = ResourceFailed.of(error, resource=self.name, item=number, answer=answer_of(error))
        named.__cause__ = error
        return named


def nodes_of(flow: Flow, cursors: Cursors) -> list[Node]:
    """The nodes that begin, with all that hang from them; what feeds several streams is one node."""
    built: dict[Stream, Node] = {}
    roots: list[Node] = []
    for wanted in flow.streams:
        for stream in reversed(list(wanted.chain())):
            if stream in built:
                continue
            node = built[stream] = Node(stream, cursors, built[stream.parent] if stream.parent else None)
            if not stream.parent:
                roots.append(node)
    return roots
