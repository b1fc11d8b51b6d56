"""The engine that reads the streams of a flow concurrently, and its threads and event loop."""

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
from penstock.interfaces.deletions import DeletedRows
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
"""An item after all stages of its resource: the node, the item, its mark."""
_THREAD_PREFIX = "penstock-extract"


@dataclass(frozen=True, slots=True)
class _PendingValue:
    """The stage at which a value continues once it is computed elsewhere."""

    node: Node
    stage_index: int
    mark: Any
    item_number: int
    """The number of the item in its resource, from 1."""


@dataclass(frozen=True, slots=True)
class _BackgroundWork:
    """Work for an item in a thread; its resource is blocked meanwhile."""

    node: Node
    on_done: Callable[[Any], None]
    item_number: int


@dataclass(slots=True)
class _BlockedResource:
    """Iterators and work of a resource that wait until the work for one item is done."""

    iterators: list[ItemIterator] = field(default_factory=list)
    queued_work: deque[tuple[Callable[[], Any], Callable[[Any], None]]] = field(default_factory=deque)


class ExtractEngine:
    """One pass over one flow.

    Resources take turns, one item each. A generator that a stage returns is exhausted before the next item
    of its resource is read, so rows keep the order in which they were yielded. Threads and the event loop
    run at most `max_parallel_items` calls at a time.

    After `pause` no resource is read; items between stages are finished, and `items` ends. Call `items` again
    to continue.
    """

    def __init__(self, flow: Flow, workload: Workload, cursors: Cursors | None = None) -> None:
        self.roots = build_nodes(flow, cursors or Cursors({}, source=str(flow.name)))
        self._max_parallel_items = workload.max_parallel_items
        self._continues_on_error = workload.on_error == "continue"
        self.is_paused = False
        self.failures: dict[str, PenstockError] = {}
        """The errors of failed resources, by name; the others continue."""
        self._workers = Workers(workload.workers)
        iterators = (ItemIterator.for_node(node) for node in self.roots)
        self._queue = IteratorQueue(iterators, fifo=workload.next_item_mode == "fifo")
        self._running_iterators: dict[int, ItemIterator] = {}
        self._blocked: dict[Node, _BlockedResource] = {}
        self._output: deque[FlowItem] = deque()
        self._spawned: list[ItemIterator] = []

    def items(self) -> Generator[FlowItem]:
        """Yield every item of the selected resources. Closing this closes all generators."""
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
        """Finish the items between stages, then stop between two items of every resource."""
        self._queue.is_pausing = True

    def close(self) -> None:
        """Close every generator that is still open."""
        for problem in self._close_all():
            raise problem

    def fail(self, node: Node, error: PenstockError) -> None:
        """Exclude a resource and all that it feeds; raise the error unless `on_error` is `continue`."""
        if not self._continues_on_error:
            raise error
        for failed in node.mark_failed():
            self.failures.setdefault(failed.name, error)

    def submit(self, node: Node, work: Callable[[], Any], on_done: Callable[[Any], None]) -> None:
        """Run work for an item in a thread, and pass its result to `on_done` before the next item is read.

        Files of several resources are written concurrently, those of one resource one after the other.
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
            if self._can_read_directly() and (iterator := self._queue.take()):
                value = self._next_item(iterator)
                if type(value) is dict or type(value) is list:
                    # Most items: straight from a generator to its table.
                    iterator.node.items_read += 1
                    self._queue.put(iterator)
                    yield iterator.node, value, None
                    continue
                self._handle_item(iterator, value)
            elif not self._step():
                return
            while self._output:
                yield self._output.popleft()

    def _can_read_directly(self) -> bool:
        """Return whether the next item needs no stage, thread or event loop."""
        iterator = self._queue.first
        return (
            iterator is not None
            and not self._workers.pending
            and iterator.is_root
            and iterator.mode == "here"
            and iterator.node.is_passthrough
        )

    def _is_idle(self) -> bool:
        return not self._workers.pending and self._queue.is_idle

    def _step(self) -> bool:
        """Advance one iterator or take one result; return False when all work is done."""
        if self._workers.pending and (done := self._workers.next_done(wait=False)):
            self._resume(*done)
        elif self._queue.eager and self._workers.pending < self._max_parallel_items:
            self._advance(self._queue.eager.popleft())
        elif self._workers.pending + len(self._queue.eager) < self._max_parallel_items and (
            iterator := self._queue.take()
        ):
            self._advance(iterator)
        elif self._workers.pending:
            if (done := self._workers.next_done(wait=True)) is not None:
                self._resume(*done)
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
        except Exception as error:  # user code may raise anything
            self.fail(iterator.node, iterator.node.resource_error(error, iterator.item_number))
            return END

    def _resume(
        self, future: Future[Any], continuation: ItemIterator | _PendingValue | _BackgroundWork
    ) -> None:
        """Continue with a result of a thread or of the event loop."""
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
        """Take the result of work for an item, and unblock its resource."""
        blocked = self._blocked.pop(continuation.node)
        for iterator in blocked.iterators:
            self._queue.put(iterator)
        try:
            continuation.on_done(continuation.node.run(future.result, item_number=continuation.item_number))
            for work, on_done in blocked.queued_work:
                self.submit(continuation.node, work, on_done)
        except PenstockError as error:
            self.fail(continuation.node, error)

    def _handle_item(self, iterator: ItemIterator, value: Any) -> None:
        """Push an item through the stages, and queue its iterator again."""
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
        """Close an iterator; its parent is next."""
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
        """Push a value through the stages of its resource, and to the transformers that it feeds."""
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
            if isinstance(value, DeletedRows):
                # Steps, cursors, limits and transformers are for rows.
                if node.is_selected:
                    self._output.append((node, value, mark))
                return
            if value is None or not self._is_item(node, stage_index, value, mark):
                return
            if stage_index == len(node.stages):
                break
            if stage_index == 0 and node.stream.is_transformer:
                node.items_read += 1
            stage, stage_index = node.stages[stage_index], stage_index + 1
            if isinstance(stage, ParallelStage):
                pending = _PendingValue(node, stage_index, mark, node.items_read)
                self._workers.run_in_thread(node.context, stage.stage, value, mark, continuation=pending)
                return
            value = node.run(stage, value, mark)
        self._emit(node, value, mark)

    def _is_item(self, node: Node, stage_index: int, value: Any, mark: Any) -> bool:
        """Return whether a value is an item; queue generators, and run callables and awaitables."""
        if isinstance(value, (dict, list, str, int, float)):
            return True
        if isinstance(value, DeclarationBase):
            raise UnsupportedData(
                data_type=type(value).__name__, reason=f"{node.name} yielded a declaration instead of items"
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
        """Wait for running work, and close every open generator; return the errors."""
        self._workers.close()
        problems: list[PenstockError] = []
        blocked = (iterator for resource in self._blocked.values() for iterator in resource.iterators)
        for first in (*self._queue, *self._running_iterators.values(), *blocked):
            iterator: ItemIterator | None = first
            while iterator is not None:
                try:
                    iterator.node.run(iterator.close, item_number=iterator.item_number)
                except PenstockError as problem:
                    problems.append(problem)
                iterator = iterator.parent
        return problems


class Workers:
    """Threads and one event loop, started when first needed; results are returned in order of completion."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._pool: ThreadPoolExecutor | None = None
        self._loop: _EventLoopThread | None = None
        self._done: SimpleQueue[tuple[Future[Any], Any]] = SimpleQueue()
        self._running: set[Future[Any]] = set()

    @property
    def pending(self) -> int:
        """The number of calls that run, or whose result was not taken yet."""
        return len(self._running)

    def run_in_thread(
        self, context: Context, function: Callable[..., Any], *args: Any, continuation: Any
    ) -> None:
        """Run a function in a thread, in a copy of the context; its result comes with `continuation`."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix=_THREAD_PREFIX)
        # Only one thread can enter a context at a time.
        self._watch(self._pool.submit(context.copy().run, function, *args), continuation)

    def run_on_loop(self, context: Context, awaitable: Awaitable[Any], *, continuation: Any) -> None:
        """Await an object on the event loop; its result comes with `continuation`."""
        if self._loop is None:
            self._loop = _EventLoopThread()
        self._watch(context.copy().run(self._loop.submit, _await_result(awaitable)), continuation)

    def _watch(self, future: Future[Any], continuation: Any) -> None:
        self._running.add(future)
        future.add_done_callback(lambda done: self._done.put((done, continuation)))

    def next_done(self, *, wait: bool) -> tuple[Future[Any], Any] | None:
        """Return a finished call with its continuation; None if no call is finished, unless `wait`."""
        try:
            future, continuation = self._done.get(block=wait)
        except Empty:
            return None
        self._running.discard(future)
        return future, continuation

    def close(self) -> None:
        """Cancel calls that have not begun, and wait for the others: a running thread cannot be stopped."""
        for future in self._running:
            future.cancel()
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
        if self._loop is not None:
            self._loop.close()


class _EventLoopThread:
    """An event loop in a separate thread."""

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
    """Wait for cancelled tasks, and close asynchronous generators that were not exhausted."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()
