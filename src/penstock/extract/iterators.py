"""Iterators over items: the generators of a resource and of its steps, and the queue of their turns."""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, Literal

from penstock.errors import UnsupportedData
from penstock.interfaces.frames import frame_kind
from penstock.interfaces.source import DeclarationBase

if TYPE_CHECKING:
    from penstock.extract.nodes import Node


END: Final = object()
"""Returned by an exhausted iterator."""
NOT_READY: Final = object()
"""Returned by an iterator whose items are awaited on the event loop."""
IteratorMode = Literal["here", "thread", "loop"]


class ItemIterator:
    """An iterator over items, and the stage of its resource that takes them."""

    __slots__ = (
        "_item_number",
        "is_eager",
        "is_root",
        "mark",
        "mode",
        "node",
        "parent",
        "stage_index",
        "user_iterator",
    )

    def __init__(
        self,
        node: Node,
        stage_index: int,
        user_iterator: Any,
        mark: Any,
        *,
        mode: IteratorMode,
        is_eager: bool = False,
    ) -> None:
        self.node, self.stage_index, self.mark, self.mode = node, stage_index, mark, mode
        self.user_iterator = user_iterator
        self.is_root, self.is_eager, self._item_number = user_iterator is None, is_eager, node.items_read
        self.parent: ItemIterator | None = None
        """The iterator that continues when this one is exhausted."""

    @classmethod
    def for_node(cls, node: Node) -> ItemIterator:
        """Return the iterator over the items of a resource."""
        return cls(node, 0, None, None, mode="thread" if node.stream.parallel else "here")

    @property
    def item_number(self) -> int:
        """The number of the current item of the resource, from 1."""
        return self.node.items_read + 1 if self.is_root else self._item_number

    def next_item(self) -> Any:
        """Return the next item. The caller runs this in the context of the node, possibly in a thread."""
        if self.user_iterator is None:
            self.user_iterator = to_iterator(self.node.stream.open())
            if isinstance(self.user_iterator, AsyncIterator):
                self.mode = "loop"
        return NOT_READY if self.mode == "loop" else next(self.user_iterator, END)

    async def next_item_async(self) -> Any:
        """Return the next item of an asynchronous generator."""
        return await anext(self.user_iterator, END)

    def close(self) -> None:
        """Close the generator, if it is one: its `finally` blocks run."""
        if inspect.isgenerator(self.user_iterator):
            self.user_iterator.close()


def to_iterator(data: Any) -> Iterator[Any] | AsyncIterator[Any]:
    """Return an iterator over the result of a resource's function."""
    if isinstance(data, (Iterator, AsyncIterator)):
        return data
    if frame_kind(data) is not None:
        return iter((data,))
    if inspect.iscoroutine(data):
        data.close()
        raise UnsupportedData(data_type="coroutine", reason="a resource must yield its items")
    if (
        data is None
        or isinstance(data, (str, bytes, dict, DeclarationBase))
        or not isinstance(data, Iterable)
    ):
        raise UnsupportedData(data_type=type(data).__name__, reason="the function must yield or return rows")
    return iter(data)


class IteratorQueue:
    """The iterators that wait for their turn, round robin or one resource after the other."""

    __slots__ = ("_fifo", "_ready", "eager", "is_pausing")

    def __init__(self, iterators: Iterable[ItemIterator], *, fifo: bool) -> None:
        self._ready, self._fifo = deque(iterators), fifo
        self.eager: deque[ItemIterator] = deque()
        """Generators of parallel transformers: they have priority over the resources that feed them."""
        self.is_pausing = False
        """Whether resources are paused; generators inside the stages of an item still run."""

    def __iter__(self) -> Iterator[ItemIterator]:
        yield from self._ready
        yield from self.eager

    @property
    def first(self) -> ItemIterator | None:
        """The next iterator, unless eager ones have priority or the queue is pausing."""
        return self._ready[0] if self._ready and not self.eager and not self.is_pausing else None

    @property
    def is_idle(self) -> bool:
        """Whether no item is between two stages."""
        return not self.eager and all(iterator.is_root for iterator in self._ready)

    def take(self) -> ItemIterator | None:
        """Remove and return the next iterator."""
        if not self.is_pausing:
            return self._ready.popleft() if self._ready else None
        inner = next((iterator for iterator in self._ready if not iterator.is_root), None)
        if inner is not None:
            self._ready.remove(inner)
        return inner

    def put(self, iterator: ItemIterator) -> None:
        """Queue an iterator for its next turn."""
        if iterator.is_eager:
            self.eager.append(iterator)
        elif self._fifo:
            self._ready.appendleft(iterator)
        else:
            self._ready.append(iterator)

    def put_first(self, *iterators: ItemIterator) -> None:
        """Queue iterators for the next turns, in this order."""
        for iterator in reversed(iterators):
            (self.eager if iterator.is_eager else self._ready).appendleft(iterator)
