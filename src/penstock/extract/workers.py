"""Threads and one event loop for what users want done at the same time; made when first needed."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine
    from contextvars import Context

_THREAD_PREFIX = "penstock-extract"


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
