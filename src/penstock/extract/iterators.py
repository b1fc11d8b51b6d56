"""A tap gives items one at a time: a generator of a user, wherever in a resource it came up."""

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
"""What a tap gives when it is empty."""
NOT_READY: Final = object()
"""What a tap gives when its items must be waited for on the event loop."""
IteratorMode = Literal["here", "thread", "loop"]


class ItemIterator:
    """An iterator, and the place in its resource from which its items go on."""

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
        self.node, self.stage_index, self.user_iterator, self.mark, self.mode = (
            node,
            stage_index,
            user_iterator,
            mark,
            mode,
        )
        self.is_root, self.is_eager, self._item_number = user_iterator is None, is_eager, node.items_read
        self.parent: ItemIterator | None = None
        """The tap that waits until this one is empty."""

    @classmethod
    def for_node(cls, node: Node) -> ItemIterator:
        """The tap at the beginning of a resource."""
        return cls(node, 0, None, None, mode="thread" if node.stream.parallel else "here")

    @property
    def item_number(self) -> int:
        """Which item of its resource is drawn, counted from 1; on the way of an item, that one."""
        return self.node.items_read + 1 if self.is_root else self._item_number

    def next_item(self) -> Any:
        """The next item. Runs in the context of the node, here or in a thread."""
        if self.user_iterator is None:
            self.user_iterator = to_iterator(self.node.stream.open())
            if isinstance(self.user_iterator, AsyncIterator):
                self.mode = "loop"
        return NOT_READY if self.mode == "loop" else next(self.user_iterator, END)

    async def next_item_async(self) -> Any:
        """The next item of an asynchronous generator."""
        return await anext(self.user_iterator, END)

    def close(self) -> None:
        """Close the generator, if it is one: its `finally` blocks run."""
        if inspect.isgenerator(self.user_iterator):
            self.user_iterator.close()


def to_iterator(data: Any) -> Iterator[Any] | AsyncIterator[Any]:
    """The items of what the function of a resource gave."""
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
        raise UnsupportedData(data_type=type(data).__name__, reason="the function must give rows")
    return iter(data)


class IteratorQueue:
    """Taps in waiting. Resources take turns, or are emptied one after the other."""

    __slots__ = ("_fifo", "_ready", "eager", "is_pausing")

    def __init__(self, iterators: Iterable[ItemIterator], *, fifo: bool) -> None:
        self._ready, self._fifo = deque(iterators), fifo
        self.eager: deque[ItemIterator] = deque()
        """Generators that transformers gave from threads: they go first, and hold up what feeds them."""
        self.is_pausing = False
        """Whether no resource is asked for another item; what came up on the way of one still is."""

    def __iter__(self) -> Iterator[ItemIterator]:
        yield from self._ready
        yield from self.eager

    @property
    def first(self) -> ItemIterator | None:
        """The one whose turn it is, if none goes before it and no pause is wanted."""
        return self._ready[0] if self._ready and not self.eager and not self.is_pausing else None

    @property
    def is_idle(self) -> bool:
        """Whether nothing is on its way: every resource waits to be asked for its next item."""
        return not self.eager and all(tap.is_root for tap in self._ready)

    def take(self) -> ItemIterator | None:
        """Take the one whose turn it is out of the row."""
        if not self.is_pausing:
            return self._ready.popleft() if self._ready else None
        found = next((tap for tap in self._ready if not tap.is_root), None)
        if found is not None:
            self._ready.remove(found)
        return found

    def put(self, iterator: ItemIterator) -> None:
        """Let a tap wait for its next turn."""
        if iterator.is_eager:
            self.eager.append(iterator)
        elif self._fifo:
            self._ready.appendleft(iterator)
        else:
            self._ready.append(iterator)

    def put_first(self, *iterators: ItemIterator) -> None:
        """Give taps the next turns, in this order."""
        for tap in reversed(iterators):
            (self.eager if tap.is_eager else self._ready).appendleft(tap)
