"""Reads the streams of a flow together, and gives their items as they come."""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import AsyncIterator, Generator, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from penstock.errors import PenstockError, UnsupportedData
from penstock.extract.cursor.cursors import Cursors
from penstock.extract.nodes import Node, Parallel, nodes_of
from penstock.extract.taps import END, NOT_YET, Tap, TapMode
from penstock.extract.turns import Turns
from penstock.extract.workers import Workers
from penstock.interfaces.frames import frame_kind
from penstock.interfaces.items import HintsMark, Marked
from penstock.interfaces.source import Declared

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from penstock.extract.plan import Workload
    from penstock.interfaces.source import Flow

Arrival = tuple[Node, Any, Any]
"""An item at the end of its resource: the node, the item, its mark."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a value goes on that something else has to work out first."""

    node: Node
    at: int
    mark: Any
    number: int
    """Which item of the resource it is, counted from 1."""


@dataclass(frozen=True, slots=True)
class _Aside:
    """What is done for an item that has arrived, in a thread; its resource rests meanwhile."""

    node: Node
    done: Callable[[Any], None]
    number: int


@dataclass(slots=True)
class _Rest:
    """What waits until the work for an item is done: taps of its resource, and work for its other items."""

    taps: list[Tap] = field(default_factory=list)
    more: deque[tuple[Callable[[], Any], Callable[[Any], None]]] = field(default_factory=deque)


class Engine:
    """One reading of one flow.

    Resources take turns, one item each. A generator that comes up on the way of an item is emptied before
    the resource is asked for its next item, so rows keep the order in which they were yielded. What runs in
    threads or on the event loop goes on by itself, at most `max_parallel_items` at a time.

    After `pause` no resource is asked for another item; what is on its way arrives, and `arrivals` ends. It
    goes on when it is called again.
    """

    def __init__(self, flow: Flow, workload: Workload, cursors: Cursors | None = None) -> None:
        self.roots = nodes_of(flow, cursors or Cursors({}, source=str(flow.name)))
        self._most, self._goes_on = workload.max_parallel_items, workload.on_error == "continue"
        self.is_paused = False
        self.failures: dict[str, PenstockError] = {}
        """What resources raised that the others went on without, by name."""
        self._workers = Workers(workload.workers)
        taps = (Tap.of(node) for node in self.roots)
        self._turns = Turns(taps, fifo=workload.next_item_mode == "fifo")
        self._away: dict[int, Tap] = {}
        self._resting: dict[Node, _Rest] = {}
        self._out: deque[Arrival] = deque()
        self._spawned: list[Tap] = []

    def arrivals(self) -> Generator[Arrival]:
        """Every item that reaches the end of a selected resource. Closing this closes all generators."""
        self.is_paused = False
        try:
            yield from self._arrivals()
        except BaseException as error:
            for problem in self._close_all():
                error.add_note(f"while closing: {problem}")
            raise
        if not self.is_paused:
            self.close()

    def pause(self) -> None:
        """Let what is on its way arrive, and then rest: between two items of every resource."""
        self._turns.is_pausing = True

    def close(self) -> None:
        """Close every generator that is still open."""
        for problem in self._close_all():
            raise problem

    def fail(self, node: Node, error: PenstockError) -> None:
        """Go on without a resource and those that it feeds; where that is not wanted, this raises."""
        if not self._goes_on:
            raise error
        for failed in node.give_up():
            self.failures.setdefault(failed.name, error)

    def aside(self, node: Node, work: Callable[[], Any], done: Callable[[Any], None]) -> None:
        """Do work for an item in a thread; `done` gets what it gives, here, before the next item is drawn.

        The files of several resources are written at the same time, those of one resource after each other.
        """
        if node.stream.is_transformer:
            done(node.run(work))
        elif node in self._resting:
            self._resting[node].more.append((work, done))
        else:
            self._resting[node] = _Rest()
            self._workers.call(node.context, work, then=_Aside(node, done, node.taken))

    def _arrivals(self) -> Generator[Arrival]:
        while True:
            if self._turns.is_pausing and self._is_quiet():
                self._turns.is_pausing, self.is_paused = False, True
                return
            if self._is_quick() and (tap := self._turns.take()):
                value = self._draw(tap)
                if type(value) is dict or type(value) is list:
                    # Most items: straight from a generator to its table.
                    tap.node.taken += 1
                    self._turns.put(tap)
                    yield tap.node, value, None
                    continue
                self._drawn(tap, value)
            elif not self._turn():
                return
            while self._out:
                yield self._out.popleft()

    def _is_quick(self) -> bool:
        """Whether the next thing to do is to draw an item that has no way to go."""
        tap = self._turns.first
        return (
            tap is not None
            and not self._workers.pending
            and tap.is_root
            and tap.mode == "here"
            and tap.node.is_plain
        )

    def _is_quiet(self) -> bool:
        return not self._workers.pending and self._turns.is_quiet

    def _turn(self) -> bool:
        """Do one thing; False when there is nothing left to do."""
        if self._workers.pending and (done := self._workers.take(wait=False)):
            self._settle(*done)
        elif self._turns.eager and self._workers.pending < self._most:
            self._advance(self._turns.eager.popleft())
        elif self._workers.pending + len(self._turns.eager) < self._most and (tap := self._turns.take()):
            self._advance(tap)
        elif self._workers.pending:
            found = self._workers.take(wait=True)
            if found is not None:
                self._settle(*found)
        else:
            return False
        return True

    def _advance(self, tap: Tap) -> None:
        node = tap.node
        if node in self._resting:
            self._resting[node].taps.append(tap)
        elif not node.may_draw(tap.at, is_root=tap.is_root):
            self._close(tap)
        elif tap.mode == "here":
            self._drawn(tap, self._draw(tap))
        elif tap.mode == "thread":
            self._away[id(tap)] = tap
            self._workers.call(node.context, tap.draw, then=tap)
        else:
            self._away[id(tap)] = tap
            self._workers.await_(node.context, tap.draw_later(), then=tap)

    def _draw(self, tap: Tap) -> Any:
        try:
            return tap.node.context.run(tap.draw)
        except Exception as error:  # a user's code raises what it likes
            self.fail(tap.node, tap.node.failure(error, tap.number))
            return END

    def _settle(self, future: Future[Any], then: Tap | _Place | _Aside) -> None:
        """Go on with what was worked out elsewhere."""
        if isinstance(then, _Aside):
            self._finish(future, then)
            return
        if isinstance(then, Tap):
            del self._away[id(then)]
        value: Any = END
        try:
            value = then.node.run(future.result, number=then.number)
        except PenstockError as error:
            self.fail(then.node, error)
        if isinstance(then, Tap):
            self._drawn(then, value)
        elif not then.node.is_closed(then.at):
            self._push(then.node, then.at, value, then.mark)
            self._turns.put_first(*self._take_spawned())

    def _finish(self, future: Future[Any], then: _Aside) -> None:
        """Take what came of an item, and let its resource go on."""
        rest = self._resting.pop(then.node)
        for tap in rest.taps:
            self._turns.put(tap)
        try:
            then.done(then.node.run(future.result, number=then.number))
            for work, done in rest.more:
                self.aside(then.node, work, done)
        except PenstockError as error:
            self.fail(then.node, error)

    def _drawn(self, tap: Tap, value: Any) -> None:
        """Send an item of a tap on its way, and put the tap back for its next turn."""
        if value is END or tap.node.is_closed(tap.at):
            self._close(tap)
            return
        if value is NOT_YET:
            self._turns.put(tap)
            return
        if tap.is_root:
            tap.node.taken += 1
        self._push(tap.node, tap.at, value, tap.mark)
        last = tap
        for child in reversed(self._take_spawned()):
            child.above, last = last, child
        if last is tap and tap.node.is_closed(tap.at, is_root=tap.is_root):
            self._close(tap)
        else:
            self._turns.put(last)

    def _close(self, tap: Tap) -> None:
        """Let a tap go; the one that waits for it is next."""
        try:
            tap.node.run(tap.close, number=tap.number)
        except PenstockError as error:
            self.fail(tap.node, error)
        if tap.above is not None:
            self._turns.put_first(tap.above)

    def _take_spawned(self) -> list[Tap]:
        taken, self._spawned = self._spawned, []
        return taken

    def _push(self, node: Node, at: int, value: Any, mark: Any) -> None:
        """Take a value through the stages of its resource, and on to those that take their items from it."""
        try:
            self._pass(node, at, value, mark)
        except PenstockError as error:
            self.fail(node, error)

    def _pass(self, node: Node, at: int, value: Any, mark: Any) -> None:
        while True:
            if isinstance(value, Marked):
                value, mark = value.item, value.mark
                if value is None and isinstance(mark, HintsMark) and node.wanted:
                    self._out.append((node, None, mark))
            if value is None or not self._is_here(node, at, value, mark):
                return
            if at == len(node.stages):
                break
            if at == 0 and node.stream.is_transformer:
                node.taken += 1
            stage, at = node.stages[at], at + 1
            if isinstance(stage, Parallel):
                place = _Place(node, at, mark, node.taken)
                self._workers.call(node.context, stage.stage, value, mark, then=place)
                return
            value = node.run(stage, value, mark)
        self._arrive(node, value, mark)

    def _is_here(self, node: Node, at: int, value: Any, mark: Any) -> bool:
        """Whether a value is an item; if it is not, what has to be done for its items is begun."""
        if isinstance(value, (dict, list, str, int, float)):
            return True
        if isinstance(value, Declared):
            raise UnsupportedData(
                data_type=type(value).__name__, reason=f"{node.name} gave a declaration, and no items"
            )
        if isinstance(value, AsyncIterator):
            self._turns.eager.append(Tap(node, at, value, mark, mode="loop", is_eager=True))
        elif isinstance(value, Iterator):
            is_eager = node.stream.parallel and node.stream.is_transformer
            mode: TapMode = "thread" if is_eager else "here"
            (self._turns.eager if is_eager else self._spawned).append(
                Tap(node, at, value, mark, mode=mode, is_eager=is_eager)
            )
        elif inspect.isawaitable(value):
            self._workers.await_(node.context, value, then=_Place(node, at, mark, node.taken))
        elif callable(value) and frame_kind(value) is None:
            self._workers.call(node.context, value, then=_Place(node, at, mark, node.taken))
        else:
            return True
        return False

    def _arrive(self, node: Node, value: Any, mark: Any) -> None:
        if node.gate is not None:
            if not node.gate.is_open() and not node.is_past_cursor(len(node.stages)):
                node.close()
                return
            node.gate.count(value)
            if not node.gate.is_open():
                node.close()
        if node.wanted:
            self._out.append((node, value, mark))
        for child in node.children:
            if not child.is_closed():
                self._push(child, 0, value, mark)

    def _close_all(self) -> list[PenstockError]:
        """Wait for what runs, and close every generator that is still open; gives what they raised."""
        self._workers.close()
        problems: list[PenstockError] = []
        resting = (tap for rest in self._resting.values() for tap in rest.taps)
        for tap in (*self._turns, *self._away.values(), *resting):
            waiting: Tap | None = tap
            while waiting is not None:
                try:
                    waiting.node.run(waiting.close, number=waiting.number)
                except PenstockError as problem:
                    problems.append(problem)
                waiting = waiting.above
        return problems
