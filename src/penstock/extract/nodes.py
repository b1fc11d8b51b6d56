"""The streams of a flow while they are read: who feeds whom, and what each item has to pass."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.errors import DatabaseNotReachable, DatabaseQueryFailed, PenstockError, ResourceFailed
from penstock.extract.cursor.spark_frames import CursorHook
from penstock.extract.cursor.tracker import Tracker
from penstock.extract.http_errors import http_error_details
from penstock.extract.steps import build_stage
from penstock.interfaces.run_context import context_with, update_in_context

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextvars import Context

    from penstock.extract.cursor.cursors import Cursors
    from penstock.extract.steps import Stage
    from penstock.interfaces.frame_engine import FrameHook
    from penstock.interfaces.source import Flow, ItemStep, Limit, Stream


class LimitCounter:
    """The limit of one resource while it is read."""

    __slots__ = ("_clock", "_count", "_deadline", "_limit")

    def __init__(self, limit: Limit, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit, self._clock, self._count = limit, clock, 0
        self._deadline: float | None = None

    def has_room(self) -> bool:
        """Whether there is room for another item. The time begins to run with the first call."""
        if self._deadline is None and self._limit.max_time is not None:
            self._deadline = self._clock() + self._limit.max_time
        most = self._limit.max_items
        return (most is None or self._count < most) and (
            self._deadline is None or self._clock() < self._deadline
        )

    def count(self, item: Any) -> None:
        """Take note of an item that has passed. A page counts as one, unless rows are counted."""
        self._count += _row_count(item) if self._limit.count_rows else 1


def _row_count(item: Any) -> int:
    """Rows of a page or a frame; anything else is one row."""
    if isinstance(item, (dict, str, bytes)) or not hasattr(item, "__len__"):
        return 1
    return len(item)


@dataclass(frozen=True, slots=True)
class ParallelStage:
    """A stage that runs in a thread."""

    stage: Stage


class Node:
    """One stream: its stages, its context, and the streams that take their items from it."""

    __slots__ = (
        *(
            "_closed",
            "_cursor_index",
            "_is_stopped",
            "_has_failed",
            "_parent",
            "children",
            "context",
            "limit",
        ),
        *("metrics", "stages", "stream", "items_read", "is_selected"),
    )

    def __init__(self, stream: Stream, cursors: Cursors, parent: Node | None = None) -> None:
        self.stream = stream
        self.metrics: dict[str, Any] = {}
        # The body of a generator runs in the context of whoever asks for the next item: always in this one.
        self.context: Context = context_with(
            resource_name=stream.name, resource=stream.resource, metrics=self.metrics
        )
        self.stages: tuple[Stage | ParallelStage, ...] = self._build_stages(cursors)
        self._cursor_index = next(
            (at for at, one in enumerate(self.stages) if isinstance(one, Tracker)), None
        )
        self.limit = LimitCounter(stream.limit) if stream.limit else None
        self.children: list[Node] = []
        self._parent = parent
        if parent is not None:
            parent.children.append(self)
        self.is_selected, self.items_read = stream.selected, 0
        self._closed = self._is_stopped = self._has_failed = False

    @property
    def is_passthrough(self) -> bool:
        """Whether its items go straight to its table."""
        return not (self.stages or self.children or self.limit) and self.is_selected

    @property
    def name(self) -> str:
        """The name of the resource."""
        return self.stream.name

    def close(self) -> None:
        """Take no more items: there is enough."""
        self._closed = True

    def stop(self) -> None:
        """Ask the source for no more items; what it has given already goes on."""
        self._is_stopped = not self.stream.is_transformer

    def mark_failed(self) -> Iterator[Node]:
        """Take no more items, here and in what this feeds; what only fed this is not read any more either."""
        self._closed = self._has_failed = True
        yield self
        for child in self.children:
            yield from child.mark_failed()
        above = self._parent
        if above is not None and not above.is_selected and all(child.is_closed() for child in above.children):
            above.close()

    def update_context(self, **changes: Any) -> None:
        """Change what user code is told of the moment."""
        update_in_context(self.context, **changes)

    def is_past_cursor(self, stage_index: int) -> bool:
        """Whether an item that has come so far was counted by a cursor: it must not be dropped."""
        return self._cursor_index is not None and stage_index > self._cursor_index

    def is_closed(self, stage_index: int = 0, *, is_root: bool = False) -> bool:
        """Whether no more items are taken that have come so far."""
        if self._has_failed or (is_root and self._is_stopped):
            return True
        return self._closed and not self.is_past_cursor(stage_index)

    def can_read(self, stage_index: int, *, is_root: bool) -> bool:
        """Whether the next item is wanted of a generator whose items go on from there."""
        if self.is_closed(stage_index, is_root=is_root):
            return False
        return self.limit is None or self.is_past_cursor(stage_index) or self.limit.has_room()

    def _build_stages(self, cursors: Cursors) -> tuple[Stage | ParallelStage, ...]:
        steps = tuple(self._build_stage(step, cursors) for step in self.stream.steps)
        if not self.stream.is_transformer:
            return steps
        before = tuple(self._build_stage(step, cursors) for step in self.stream.parent_steps)
        head: Stage = self.stream.open
        return (*before, ParallelStage(head) if self.stream.parallel else head, *steps)

    def _build_stage(self, step: ItemStep, cursors: Cursors) -> Stage:
        cursor = step.function() if step.kind == "incremental" else None
        if cursor is None:
            return build_stage(step, self.metrics)
        return cursors.track(cursor, resource=self.name, stop=self.stop, is_loaded=self.stream.selected)

    @property
    def frame_hook(self) -> FrameHook | None:
        """What looks at DataFrames while they are written: its cursors, if it has any."""
        trackers = [stage for stage in self.stages if isinstance(stage, Tracker)]
        return CursorHook(trackers) if trackers else None

    def run(self, function: Callable[..., Any], *args: Any, item_number: int | None = None) -> Any:
        """Call a user's function in the context of the resource; its errors are named here, once."""
        try:
            return self.context.run(function, *args)
        except Exception as error:
            # The cause is chained already; `from` would take it away from errors of our own.
            raise self.resource_error(error, self.items_read if item_number is None else item_number)  # noqa: B904

    def resource_error(self, error: Exception, item_number: int) -> PenstockError:
        """The error that names the resource and the item; our own are good as they are."""
        if isinstance(error, DatabaseQueryFailed | DatabaseNotReachable) and error.resource is None:
            told = type(error)(database=error.database, reason=error.reason, resource=self.name)
            told.__cause__ = error.__cause__
            return told.with_traceback(error.__traceback__)
        if isinstance(error, PenstockError):
            return error
        named = ResourceFailed.from_exception(
            error, resource=self.name, item=item_number, response=http_error_details(error)
        )
        named.__cause__ = error
        return named


def build_nodes(flow: Flow, cursors: Cursors) -> list[Node]:
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
