"""Reads the streams of a flow together, and gives their items as they come."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections import deque
from collections.abc import AsyncIterator, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from penstock.errors import PenstockError, UnsupportedData
from penstock.extract.cursor.cursors import Cursors
from penstock.extract.iterators import END, NOT_READY, ItemIterator, IteratorMode, IteratorQueue
from penstock.extract.nodes import Node, ParallelStage, build_nodes
from penstock.interfaces.frames import frame_kind
from penstock.interfaces.items import HintsMark, MarkedItem
from penstock.interfaces.source import DeclarationBase

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine
    from concurrent.futures import Future
    from contextvars import Context

    from penstock.extract.plan import Workload
    from penstock.interfaces.source import Flow

FlowItem = tuple[Node, Any, Any]
"""An item at the end of its resource: the node, the item, its mark."""
_THREAD_PREFIX = "penstock-extract"


@dataclass(frozen=True, slots=True)
class _PendingValue:
    """Where a value goes on that something else has to work out first."""

    node: Node
    stage_index: int
    mark: Any
    item_number: int
    """Which item of the resource it is, counted from 1."""


@dataclass(frozen=True, slots=True)
class _BackgroundWork:
    """What is done for an item that has arrived, in a thread; its resource rests meanwhile."""

    node: Node
    on_done: Callable[[Any], None]
    item_number: int


@dataclass(slots=True)
class _BlockedResource:
    """What waits until the work for an item is done: taps of its resource, and work for its other items."""

    iterators: list[ItemIterator] = field(default_factory=list)
    queued_work: deque[tuple[Callable[[], Any], Callable[[Any], None]]] = field(default_factory=deque)


class ExtractEngine:
    """One reading of one flow.

    Resources take turns, one item each. A generator that comes up on the way of an item is emptied before
    the resource is asked for its next item, so rows keep the order in which they were yielded. What runs in
    threads or on the event loop goes on by itself, at most `max_parallel_items` at a time.

    After `pause` no resource is asked for another item; what is on its way arrives, and `arrivals` ends. It
    goes on when it is called again.
    """

    def __init__(self, flow: Flow, workload: Workload, cursors: Cursors | None = None) -> None:
        self.roots = build_nodes(flow, cursors or Cursors({}, source=str(flow.name)))
        self._max_parallel_items, self._continues_on_error = (
            workload.max_parallel_items,
            workload.on_error == "continue",
        )
        self.is_paused = False
        self.failures: dict[str, PenstockError] = {}
        """What resources raised that the others went on without, by name."""
        self._workers = Workers(workload.workers)
        taps = (ItemIterator.for_node(node) for node in self.roots)
        self._queue = IteratorQueue(taps, fifo=workload.next_item_mode == "fifo")
        self._running_iterators: dict[int, ItemIterator] = {}
        self._blocked: dict[Node, _BlockedResource] = {}
        self._output: deque[FlowItem] = deque()
        self._spawned: list[ItemIterator] = []

    def items(self) -> Generator[FlowItem]:
        """Every item that reaches the end of a selected resource. Closing this closes all generators."""
        self.is_paused = False
        try:
            yield from self._iterate()
        except BaseException as error:
            for problem in self._close_all():
                error.add_note(f"while closing: {problem}")
            raise
        if not self.is_paused:
            self.close()

    def pause(self) -> None:
        """Let what is on its way arrive, and then rest: between two items of every resource."""
        self._queue.is_pausing = True

    def close(self) -> None:
        """Close every generator that is still open."""
        for problem in self._close_all():
            raise problem

    def fail(self, node: Node, error: PenstockError) -> None:
        """Go on without a resource and those that it feeds; where that is not wanted, this raises."""
        if not self._continues_on_error:
            raise error
        for failed in node.mark_failed():
            self.failures.setdefault(failed.name, error)

    def submit(self, node: Node, work: Callable[[], Any], on_done: Callable[[Any], None]) -> None:
        """Do work for an item in a thread; `done` gets what it gives, here, before the next item is drawn.

        The files of several resources are written at the same time, those of one resource after each other.
        """
        if node.stream.is_transformer:
            on_done(node.run(work))
        elif node in self._blocked:
            self._blocked[node].queued_work.append((work, on_done))
        else:
            self._blocked[node] = _BlockedResource()
            self._workers.run_in_thread(
                node.context, work, continuation=_BackgroundWork(node, on_done, node.items_read)
            )

    def _iterate(self) -> Generator[FlowItem]:
        while True:
            if self._queue.is_pausing and self._is_idle():
                self._queue.is_pausing, self.is_paused = False, True
                return
            if self._can_read_directly() and (tap := self._queue.take()):
                value = self._next_item(tap)
                if type(value) is dict or type(value) is list:
                    # Most items: straight from a generator to its table.
                    tap.node.items_read += 1
                    self._queue.put(tap)
                    yield tap.node, value, None
                    continue
                self._handle_item(tap, value)
            elif not self._step():
                return
            while self._output:
                yield self._output.popleft()

    def _can_read_directly(self) -> bool:
        """Whether the next thing to do is to draw an item that has no way to go."""
        tap = self._queue.first
        return (
            tap is not None
            and not self._workers.pending
            and tap.is_root
            and tap.mode == "here"
            and tap.node.is_passthrough
        )

    def _is_idle(self) -> bool:
        return not self._workers.pending and self._queue.is_idle

    def _step(self) -> bool:
        """Do one thing; False when there is nothing left to do."""
        if self._workers.pending and (done := self._workers.next_done(wait=False)):
            self._resume(*done)
        elif self._queue.eager and self._workers.pending < self._max_parallel_items:
            self._advance(self._queue.eager.popleft())
        elif self._workers.pending + len(self._queue.eager) < self._max_parallel_items and (
            tap := self._queue.take()
        ):
            self._advance(tap)
        elif self._workers.pending:
            found = self._workers.next_done(wait=True)
            if found is not None:
                self._resume(*found)
        else:
            return False
        return True

    def _advance(self, iterator: ItemIterator) -> None:
        node = iterator.node
        if node in self._blocked:
            self._blocked[node].iterators.append(iterator)
        elif not node.can_read(iterator.stage_index, is_root=iterator.is_root):
            self._close(iterator)
        elif iterator.mode == "here":
            self._handle_item(iterator, self._next_item(iterator))
        elif iterator.mode == "thread":
            self._running_iterators[id(iterator)] = iterator
            self._workers.run_in_thread(node.context, iterator.next_item, continuation=iterator)
        else:
            self._running_iterators[id(iterator)] = iterator
            self._workers.run_on_loop(node.context, iterator.next_item_async(), continuation=iterator)

    def _next_item(self, iterator: ItemIterator) -> Any:
        try:
            return iterator.node.context.run(iterator.next_item)
        except Exception as error:  # a user's code raises what it likes
            self.fail(iterator.node, iterator.node.resource_error(error, iterator.item_number))
            return END

    def _resume(
        self, future: Future[Any], continuation: ItemIterator | _PendingValue | _BackgroundWork
    ) -> None:
        """Go on with what was worked out elsewhere."""
        if isinstance(continuation, _BackgroundWork):
            self._finish_background(future, continuation)
            return
        if isinstance(continuation, ItemIterator):
            del self._running_iterators[id(continuation)]
        value: Any = END
        try:
            value = continuation.node.run(future.result, item_number=continuation.item_number)
        except PenstockError as error:
            self.fail(continuation.node, error)
        if isinstance(continuation, ItemIterator):
            self._handle_item(continuation, value)
        elif not continuation.node.is_closed(continuation.stage_index):
            self._push(continuation.node, continuation.stage_index, value, continuation.mark)
            self._queue.put_first(*self._take_spawned())

    def _finish_background(self, future: Future[Any], continuation: _BackgroundWork) -> None:
        """Take what came of an item, and let its resource go on."""
        rest = self._blocked.pop(continuation.node)
        for tap in rest.iterators:
            self._queue.put(tap)
        try:
            continuation.on_done(continuation.node.run(future.result, item_number=continuation.item_number))
            for work, done in rest.queued_work:
                self.submit(continuation.node, work, done)
        except PenstockError as error:
            self.fail(continuation.node, error)

    def _handle_item(self, iterator: ItemIterator, value: Any) -> None:
        """Send an item of a tap on its way, and put the tap back for its next turn."""
        if value is END or iterator.node.is_closed(iterator.stage_index):
            self._close(iterator)
            return
        if value is NOT_READY:
            self._queue.put(iterator)
            return
        if iterator.is_root:
            iterator.node.items_read += 1
        self._push(iterator.node, iterator.stage_index, value, iterator.mark)
        last = iterator
        for child in reversed(self._take_spawned()):
            child.parent, last = last, child
        if last is iterator and iterator.node.is_closed(iterator.stage_index, is_root=iterator.is_root):
            self._close(iterator)
        else:
            self._queue.put(last)

    def _close(self, iterator: ItemIterator) -> None:
        """Let a tap go; the one that waits for it is next."""
        try:
            iterator.node.run(iterator.close, item_number=iterator.item_number)
        except PenstockError as error:
            self.fail(iterator.node, error)
        if iterator.parent is not None:
            self._queue.put_first(iterator.parent)

    def _take_spawned(self) -> list[ItemIterator]:
        taken, self._spawned = self._spawned, []
        return taken

    def _push(self, node: Node, stage_index: int, value: Any, mark: Any) -> None:
        """Take a value through the stages of its resource, and on to those that take their items from it."""
        try:
            self._run_stages(node, stage_index, value, mark)
        except PenstockError as error:
            self.fail(node, error)

    def _run_stages(self, node: Node, stage_index: int, value: Any, mark: Any) -> None:
        while True:
            if isinstance(value, MarkedItem):
                value, mark = value.item, value.mark
                if value is None and isinstance(mark, HintsMark) and node.is_selected:
                    self._output.append((node, None, mark))
            if value is None or not self._is_item(node, stage_index, value, mark):
                return
            if stage_index == len(node.stages):
                break
            if stage_index == 0 and node.stream.is_transformer:
                node.items_read += 1
            stage, stage_index = node.stages[stage_index], stage_index + 1
            if isinstance(stage, ParallelStage):
                place = _PendingValue(node, stage_index, mark, node.items_read)
                self._workers.run_in_thread(node.context, stage.stage, value, mark, continuation=place)
                return
            value = node.run(stage, value, mark)
        self._emit(node, value, mark)

    def _is_item(self, node: Node, stage_index: int, value: Any, mark: Any) -> bool:
        """Whether a value is an item; if it is not, what has to be done for its items is begun."""
        if isinstance(value, (dict, list, str, int, float)):
            return True
        if isinstance(value, DeclarationBase):
            raise UnsupportedData(
                data_type=type(value).__name__, reason=f"{node.name} gave a declaration, and no items"
            )
        if isinstance(value, AsyncIterator):
            self._queue.eager.append(ItemIterator(node, stage_index, value, mark, mode="loop", is_eager=True))
        elif isinstance(value, Iterator):
            is_eager = node.stream.parallel and node.stream.is_transformer
            mode: IteratorMode = "thread" if is_eager else "here"
            (self._queue.eager if is_eager else self._spawned).append(
                ItemIterator(node, stage_index, value, mark, mode=mode, is_eager=is_eager)
            )
        elif inspect.isawaitable(value):
            self._workers.run_on_loop(
                node.context, value, continuation=_PendingValue(node, stage_index, mark, node.items_read)
            )
        elif callable(value) and frame_kind(value) is None:
            self._workers.run_in_thread(
                node.context, value, continuation=_PendingValue(node, stage_index, mark, node.items_read)
            )
        else:
            return True
        return False

    def _emit(self, node: Node, value: Any, mark: Any) -> None:
        if node.limit is not None:
            if not node.limit.has_room() and not node.is_past_cursor(len(node.stages)):
                node.close()
                return
            node.limit.count(value)
            if not node.limit.has_room():
                node.close()
        if node.is_selected:
            self._output.append((node, value, mark))
        for child in node.children:
            if not child.is_closed():
                self._push(child, 0, value, mark)

    def _close_all(self) -> list[PenstockError]:
        """Wait for what runs, and close every generator that is still open; gives what they raised."""
        self._workers.close()
        problems: list[PenstockError] = []
        resting = (tap for rest in self._blocked.values() for tap in rest.iterators)
        for tap in (*self._queue, *self._running_iterators.values(), *resting):
            waiting: ItemIterator | None = tap
            while waiting is not None:
                try:
                    waiting.node.run(waiting.close, item_number=waiting.item_number)
                except PenstockError as problem:
                    problems.append(problem)
                waiting = waiting.parent
        return problems


class Workers:
    """Runs calls and coroutines, and hands back what was done in the order in which it was done."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._pool: ThreadPoolExecutor | None = None
        self._loop: _EventLoopThread | None = None
        self._done: SimpleQueue[tuple[Future[Any], Any]] = SimpleQueue()
        self._running: set[Future[Any]] = set()

    @property
    def pending(self) -> int:
        """How much is under way, or done and not taken."""
        return len(self._running)

    def run_in_thread(
        self, context: Context, function: Callable[..., Any], *args: Any, continuation: Any
    ) -> None:
        """Run a function in a thread, in a copy of the context; `then` comes back with what it gives."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix=_THREAD_PREFIX)
        # A context can be entered once at a time.
        self._watch(self._pool.submit(context.copy().run, function, *args), continuation)

    def run_on_loop(self, context: Context, awaitable: Awaitable[Any], *, continuation: Any) -> None:
        """Await something on the event loop; `then` comes back with what it gives."""
        if self._loop is None:
            self._loop = _EventLoopThread()
        self._watch(context.copy().run(self._loop.submit, _await_result(awaitable)), continuation)

    def _watch(self, future: Future[Any], continuation: Any) -> None:
        self._running.add(future)
        future.add_done_callback(lambda done: self._done.put((done, continuation)))

    def next_done(self, *, wait: bool) -> tuple[Future[Any], Any] | None:
        """Something that is done, with its `then`; None when nothing is, unless told to wait for it."""
        try:
            future, then = self._done.get(block=wait)
        except Empty:
            return None
        self._running.discard(future)
        return future, then

    def close(self) -> None:
        """Give up what has not begun, and wait for the rest: a running thread cannot be stopped."""
        for future in self._running:
            future.cancel()
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
        if self._loop is not None:
            self._loop.close()


class _EventLoopThread:
    """An event loop in a thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name=f"{_THREAD_PREFIX}-loop", daemon=True
        )
        self._thread.start()

    def submit(self, coroutine: Coroutine[Any, Any, Any]) -> Future[Any]:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def close(self) -> None:
        self.submit(_shut_down()).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _await_result(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


async def _shut_down() -> None:
    """Let cancelled tasks end, and close asynchronous generators that were left half-way."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()
