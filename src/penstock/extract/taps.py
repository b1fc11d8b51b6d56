"""A tap gives items one at a time: a generator of a user, wherever in a resource it came up."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, Literal

from penstock.errors import UnsupportedData
from penstock.interfaces.frames import frame_kind
from penstock.interfaces.source import Declared

if TYPE_CHECKING:
    from penstock.extract.nodes import Node

END: Final = object()
"""What a tap gives when it is empty."""
NOT_YET: Final = object()
"""What a tap gives when its items must be waited for on the event loop."""

TapMode = Literal["here", "thread", "loop"]


class Tap:
    """An iterator, and the place in its resource from which its items go on."""

    __slots__ = ("_number", "above", "at", "is_eager", "is_root", "iterator", "mark", "mode", "node")

    def __init__(
        self, node: Node, at: int, iterator: Any, mark: Any, *, mode: TapMode, is_eager: bool = False
    ) -> None:
        self.node, self.at, self.iterator, self.mark, self.mode = node, at, iterator, mark, mode
        self.is_root, self.is_eager, self._number = iterator is None, is_eager, node.taken
        self.above: Tap | None = None
        """The tap that waits until this one is empty."""

    @classmethod
    def of(cls, node: Node) -> Tap:
        """The tap at the beginning of a resource."""
        return cls(node, 0, None, None, mode="thread" if node.stream.parallel else "here")

    @property
    def number(self) -> int:
        """Which item of its resource is drawn, counted from 1; on the way of an item, that one."""
        return self.node.taken + 1 if self.is_root else self._number

    def draw(self) -> Any:
        """The next item. Runs in the context of the node, here or in a thread."""
        if self.iterator is None:
            self.iterator = opened(self.node.stream.open())
            if isinstance(self.iterator, AsyncIterator):
                self.mode = "loop"
        return NOT_YET if self.mode == "loop" else next(self.iterator, END)

    async def draw_later(self) -> Any:
        """The next item of an asynchronous generator."""
        return await anext(self.iterator, END)

    def close(self) -> None:
        """Close the generator, if it is one: its `finally` blocks run."""
        if inspect.isgenerator(self.iterator):
            self.iterator.close()


def opened(data: Any) -> Iterator[Any] | AsyncIterator[Any]:
    """The items of what the function of a resource gave."""
    if isinstance(data, (Iterator, AsyncIterator)):
        return data
    if frame_kind(data) is not None:
        return iter((data,))
    if inspect.iscoroutine(data):
        data.close()
        raise UnsupportedData(data_type="coroutine", reason="a resource must yield its items")
    if data is None or isinstance(data, (str, bytes, dict, Declared)) or not isinstance(data, Iterable):
        raise UnsupportedData(data_type=type(data).__name__, reason="the function must give rows")
    return iter(data)
