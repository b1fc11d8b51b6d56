"""The streams of a flow while they are read: who feeds whom, and what each item has to pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.config import redact
from penstock.errors import PenstockError, ResourceFailed, UsageError
from penstock.extract.gate import Gate
from penstock.extract.steps import stage_of
from penstock.interfaces.current import change_in, context_with

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextvars import Context

    from penstock.extract.steps import Stage
    from penstock.interfaces.source import Flow, Stream


@dataclass(frozen=True, slots=True)
class Parallel:
    """A stage that runs in a thread."""

    stage: Stage


class Node:
    """One stream: its stages, its context, and the streams that take their items from it."""

    __slots__ = (
        *("_closed", "_parent", "children", "context", "gate"),
        *("metrics", "stages", "stream", "taken", "wanted"),
    )

    def __init__(self, stream: Stream, parent: Node | None = None) -> None:
        if stream.hints.incremental is not None:
            raise UsageError(
                f"{stream.name} has an incremental cursor, and cursors are not supported yet",
                hint="leave incremental out, and keep the cursor in penstock.current.resource_state()",
            )
        self.stream = stream
        self.metrics: dict[str, Any] = {}
        # The body of a generator runs in the context of whoever asks for the next item: always in this one.
        self.context: Context = context_with(
            resource_name=stream.name, resource=stream.resource, metrics=self.metrics
        )
        self.stages: tuple[Stage | Parallel, ...] = self._stages()
        self.gate = Gate(stream.limit) if stream.limit else None
        self.children: list[Node] = []
        self._parent = parent
        if parent is not None:
            parent.children.append(self)
        self.wanted, self._closed, self.taken = stream.selected, False, 0

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

    def is_closed(self) -> bool:
        """Whether no more items are taken."""
        return self._closed

    def give_up(self) -> Iterator[Node]:
        """Take no more items, here and in what this feeds; what only fed this is not read any more either."""
        self.close()
        yield self
        for child in self.children:
            yield from child.give_up()
        above = self._parent
        if above is not None and not above.wanted and all(child.is_closed() for child in above.children):
            above.close()

    def move(self, **changes: Any) -> None:
        """Change what user code is told of the moment."""
        change_in(self.context, **changes)

    def _stages(self) -> tuple[Stage | Parallel, ...]:
        steps = tuple(stage_of(step, self.metrics) for step in self.stream.steps)
        if not self.stream.is_transformer:
            return steps
        before = tuple(stage_of(step, self.metrics) for step in self.stream.before)
        head: Stage = self.stream.open
        return (*before, Parallel(head) if self.stream.parallel else head, *steps)

    def run(self, function: Callable[..., Any], *args: Any, number: int | None = None) -> Any:
        """Call a user's function in the context of the resource; its errors are named here, once."""
        try:
            return self.context.run(function, *args)
        except Exception as error:
            # The cause is chained already; `from` would take it away from errors of our own.
            raise self.failure(error, self.taken if number is None else number)  # noqa: B904

    def failure(self, error: Exception, number: int) -> PenstockError:
        """The error that names the resource and the item; our own are good as they are."""
        if isinstance(error, PenstockError):
            return error
        named = ResourceFailed.of(error, resource=self.name, item=number, shown=redact)
        named.__cause__ = error
        return named


def nodes_of(flow: Flow) -> list[Node]:
    """The nodes that begin, with all that hang from them; what feeds several streams is one node."""
    built: dict[Stream, Node] = {}
    roots: list[Node] = []
    for wanted in flow.streams:
        for stream in reversed(list(wanted.chain())):
            if stream in built:
                continue
            node = built[stream] = Node(stream, built[stream.parent] if stream.parent else None)
            if not stream.parent:
                roots.append(node)
    return roots
