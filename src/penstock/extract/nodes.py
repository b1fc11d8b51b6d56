"""The nodes of a flow while it is read: streams with their stages, limits and transformers."""

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
    from penstock.interfaces.frames import FrameKind
    from penstock.interfaces.source import Flow, ItemStep, Limit, Stream


class LimitCounter:
    """The limit of one resource while it is read."""

    __slots__ = ("_clock", "_count", "_deadline", "_limit")

    def __init__(self, limit: Limit, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit, self._clock, self._count = limit, clock, 0
        self._deadline: float | None = None

    def has_room(self) -> bool:
        """Return whether another item fits. The time starts with the first call."""
        if self._deadline is None and self._limit.max_time is not None:
            self._deadline = self._clock() + self._limit.max_time
        max_items = self._limit.max_items
        return (max_items is None or self._count < max_items) and (
            self._deadline is None or self._clock() < self._deadline
        )

    def count(self, item: Any) -> None:
        """Count an item. A page counts as one unless the limit counts rows."""
        self._count += _row_count(item) if self._limit.count_rows else 1


def _row_count(item: Any) -> int:
    """Return the rows of a page or a frame; any other item is one row."""
    if isinstance(item, (dict, str, bytes)) or not hasattr(item, "__len__"):
        return 1
    return len(item)


@dataclass(frozen=True, slots=True)
class ParallelStage:
    """A stage that runs in a thread."""

    stage: Stage


class Node:
    """One stream: its stages, its context, and the transformers that it feeds."""

    __slots__ = (
        *("_closed", "_cursor_index", "_has_failed", "_is_stopped", "_parent", "children", "context"),
        *("is_selected", "items_read", "limit", "metrics", "stages", "stream"),
    )

    def __init__(self, stream: Stream, cursors: Cursors, parent: Node | None = None) -> None:
        self.stream = stream
        self.metrics: dict[str, Any] = {}
        # A generator runs in the context of its caller, so every call uses this one.
        self.context: Context = context_with(
            resource_name=stream.name, resource=stream.resource, metrics=self.metrics
        )
        self.stages: tuple[Stage | ParallelStage, ...] = self._build_stages(cursors)
        self._cursor_index = next(
            (index for index, stage in enumerate(self.stages) if isinstance(stage, Tracker)), None
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
        """Take no more items: the limit is reached."""
        self._closed = True

    def stop(self) -> None:
        """Stop reading the source; items that were read already continue."""
        self._is_stopped = not self.stream.is_transformer

    def mark_failed(self) -> Iterator[Node]:
        """Close this node and all that it feeds; close its parent too if that feeds nothing else."""
        self._closed = self._has_failed = True
        yield self
        for child in self.children:
            yield from child.mark_failed()
        parent = self._parent
        if parent and not parent.is_selected and all(child.is_closed() for child in parent.children):
            parent.close()

    def update_context(self, **changes: Any) -> None:
        """Update the context that user code sees."""
        update_in_context(self.context, **changes)

    def is_past_cursor(self, stage_index: int) -> bool:
        """Return whether a cursor has counted an item at this stage: it must not be dropped."""
        return self._cursor_index is not None and stage_index > self._cursor_index

    def is_closed(self, stage_index: int = 0, *, is_root: bool = False) -> bool:
        """Return whether items at this stage are dropped."""
        if self._has_failed or (is_root and self._is_stopped):
            return True
        return self._closed and not self.is_past_cursor(stage_index)

    def can_read(self, stage_index: int, *, is_root: bool) -> bool:
        """Return whether to read the next item of an iterator at this stage."""
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

    def frame_hook(self, kind: FrameKind) -> FrameHook | None:
        """Return the cursors that observe DataFrames during the write, if the stream has any.

        Frames with quarantined rows are filtered there too, after these rows are set apart.
        """
        trackers = [stage for stage in self.stages if isinstance(stage, Tracker)]
        return CursorHook(trackers, filters=kind == "sifted") if trackers else None

    def run(self, function: Callable[..., Any], *args: Any, item_number: int | None = None) -> Any:
        """Call user code in the context of the resource; wrap its errors with the name of the resource."""
        try:
            return self.context.run(function, *args)
        except Exception as error:
            # The cause is chained already; `from` would remove it from penstock's own errors.
            raise self.resource_error(error, self.items_read if item_number is None else item_number)  # noqa: B904

    def resource_error(self, error: Exception, item_number: int) -> PenstockError:
        """Return an error with the resource and the item; penstock's own errors are returned as they are."""
        if isinstance(error, DatabaseQueryFailed | DatabaseNotReachable) and error.resource is None:
            named_error = type(error)(database=error.database, reason=error.reason, resource=self.name)
            named_error.__cause__ = error.__cause__
            return named_error.with_traceback(error.__traceback__)
        if isinstance(error, PenstockError):
            return error
        named = ResourceFailed.from_exception(
            error, resource=self.name, item=item_number, response=http_error_details(error)
        )
        named.__cause__ = error
        return named


def build_nodes(flow: Flow, cursors: Cursors) -> list[Node]:
    """Return the root nodes with their children; a stream that feeds several streams is one node."""
    built: dict[Stream, Node] = {}
    roots: list[Node] = []
    for selected in flow.streams:
        for stream in reversed(list(selected.chain())):
            if stream in built:
                continue
            node = built[stream] = Node(stream, cursors, built[stream.parent] if stream.parent else None)
            if not stream.parent:
                roots.append(node)
    return roots
