from __future__ import annotations

import asyncio
import threading
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.extract.extraction import read_all

import penstock
from penstock.errors import ResourceFailed
from penstock.extract.engine import ExtractEngine
from penstock.extract.plan import Workload
from penstock.interfaces.run_context import override_context
from penstock.sources import flows_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator


class ConcurrencyCounter:
    """Counts how many threads are inside at the same time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.inside = self.most = 0

    def __enter__(self) -> None:
        with self._lock:
            self.inside += 1
            self.most = max(self.most, self.inside)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self.inside -= 1


def items(arrived: list[tuple[str, Any]]) -> list[Any]:
    return sorted(item for _, item in arrived)


def test_deferred_calls_run_at_the_same_time() -> None:
    meeting = threading.Barrier(4, timeout=120)

    @penstock.defer
    def fetch(number: int) -> int:
        meeting.wait()
        return number

    arrived = read_all(penstock.resource((fetch(n) for n in range(8)), name="pages"), workers=4)

    assert items(arrived) == list(range(8))


def test_at_most_max_parallel_items_run_and_generators_wait() -> None:
    asked, done, counter = [0], [0], ConcurrencyCounter()
    most_ahead = [0]

    @penstock.defer
    def fetch(number: int) -> int:
        with counter:
            time.sleep(0.001)
        done[0] += 1
        return number

    def pages() -> Iterator[Any]:
        for number in range(60):
            asked[0] += 1
            most_ahead[0] = max(most_ahead[0], asked[0] - done[0])
            yield fetch(number)

    arrived = read_all(penstock.resource(pages), workers=3, max_parallel_items=6)

    assert items(arrived) == list(range(60))
    assert counter.most <= 3
    assert most_ahead[0] <= 7


def test_twenty_parallel_resources_run_in_twenty_threads() -> None:
    meeting = threading.Barrier(20, timeout=120)

    def meeting_rows(name: str) -> Any:
        def rows() -> Iterator[str]:
            meeting.wait()
            yield f"{name} in {threading.current_thread().name}"

        return penstock.resource(rows, name=name, parallelized=True)

    arrived = read_all([meeting_rows(f"r{number}") for number in range(20)], workers=20)

    assert len({item.partition(" in ")[2] for _, item in arrived}) == 20


def test_a_parallel_generator_is_never_run_twice_at_once_and_keeps_its_order() -> None:
    counter = ConcurrencyCounter()

    @penstock.resource(parallelized=True)
    def rows() -> Iterator[int]:
        for number in range(50):
            with counter:
                time.sleep(0)
            yield number

    arrived = read_all(rows(), workers=8)

    assert [item for _, item in arrived] == list(range(50))
    assert counter.most == 1


def test_a_parallel_transformer_processes_several_items_and_delays_its_parent() -> None:
    meeting = threading.Barrier(3, timeout=120)
    begun: list[int] = []
    fed: list[int] = []

    @penstock.resource(selected=False)
    def seeds() -> Iterator[int]:
        for number in range(30):
            fed.append(number)
            yield number

    @penstock.transformer(parallelized=True, data_from=seeds)
    def grown(seed: int) -> Iterator[tuple[int, int]]:
        begun.append(seed)
        for part in range(3):
            if seed < 3:
                meeting.wait()
            assert len(fed) - len(set(begun)) <= 6
            yield seed, part

    arrived = read_all(grown(), workers=4, max_parallel_items=5)

    assert items(arrived) == [(seed, part) for seed in range(30) for part in range(3)]


@pytest.mark.parametrize("broken", [0, 7, 19])
def test_an_error_in_one_of_twenty_threads_names_its_resource_and_item(broken: int) -> None:
    def rows(number: int) -> Any:
        def rows() -> Iterator[int]:
            yield from range(3)
            if number == broken:
                raise KeyError("gone")
            yield from range(50)

        return penstock.resource(rows, name=f"r{number}", parallelized=True)

    with pytest.raises(ResourceFailed) as caught:
        read_all([rows(number) for number in range(20)], workers=20)

    assert (caught.value.resource, caught.value.item) == (f"r{broken}", 4)
    assert 'raise KeyError("gone")' in caught.value.traceback
    assert isinstance(caught.value.__cause__, KeyError)


def test_an_error_in_a_deferred_call_names_the_item() -> None:
    @penstock.defer
    def fetch(number: int) -> int:
        return 1 // (number - 3)

    with pytest.raises(ResourceFailed) as caught:
        read_all(penstock.resource((fetch(n) for n in range(5)), name="pages"), workers=1)

    assert (caught.value.resource, caught.value.item) == ("pages", 4)


def test_all_threads_end_with_the_reading() -> None:
    @penstock.defer
    def fetch(number: int) -> int:
        time.sleep(0.01)
        return number

    async def ticking() -> AsyncIterator[int]:
        for number in range(3):
            await asyncio.sleep(0)
            yield number

    before = set(threading.enumerate())
    (flow,) = flows_of(
        [penstock.resource((fetch(n) for n in range(50)), name="pages"), penstock.resource(ticking)]
    )

    with closing(ExtractEngine(flow, Workload()).items()) as reading:
        next(reading)

    assert set(threading.enumerate()) <= before


def test_code_in_threads_and_coroutines_sees_its_resource_and_state() -> None:
    state: dict[str, Any] = {}

    @penstock.defer
    def remember() -> str:
        name = penstock.current.resource_name()
        penstock.current.resource_state()["seen"] = True
        return name

    @penstock.resource
    def deferring() -> Iterator[Any]:
        yield remember()

    @penstock.resource(parallelized=True)
    def parallel() -> Iterator[str]:
        yield remember()()

    @penstock.resource
    async def waiting() -> AsyncIterator[str]:
        await asyncio.sleep(0)
        yield remember()()

    with override_context(state=state, source_name="shop"):
        arrived = read_all([deferring(), parallel(), waiting()])

    assert items(arrived) == ["deferring", "parallel", "waiting"]
    assert set(state["sources"]["shop"]["resources"]) == {"deferring", "parallel", "waiting"}


def test_asynchronous_generators_wait_for_each_other() -> None:
    events: dict[str, asyncio.Event] = {}

    def meeting(name: str, other: str) -> Any:
        async def rows() -> AsyncIterator[str]:
            events.setdefault(name, asyncio.Event()).set()
            await asyncio.wait_for(events.setdefault(other, asyncio.Event()).wait(), 120)
            yield name

        return penstock.resource(rows, name=name)

    assert items(read_all([meeting("a", "b"), meeting("b", "a")])) == ["a", "b"]


def test_an_asynchronous_transformer_processes_several_items_concurrently() -> None:
    counter = ConcurrencyCounter()

    @penstock.transformer
    async def slow(item: int) -> int:
        with counter:
            await asyncio.sleep(0.02)
        return item

    arrived = read_all(penstock.resource(range(10), name="n") | slow, max_parallel_items=5)

    assert items(arrived) == list(range(10))
    assert 1 < counter.most <= 5


def test_an_asynchronous_generator_is_closed_by_a_limit_and_by_the_end() -> None:
    closed: list[str] = []

    def endless(name: str) -> Any:
        async def rows() -> AsyncIterator[int]:
            try:
                while True:
                    yield 1
            finally:
                closed.append(name)

        return penstock.resource(rows, name=name)

    (flow,) = flows_of([endless("limited").add_limit(2), endless("left")])

    with closing(ExtractEngine(flow, Workload()).items()) as reading:
        for _ in range(8):
            next(reading)

    assert sorted(closed) == ["left", "limited"]


def test_an_error_in_a_coroutine_names_its_resource() -> None:
    @penstock.resource
    async def breaking() -> AsyncIterator[int]:
        yield 1
        raise ValueError("no")

    with pytest.raises(ResourceFailed) as caught:
        read_all(breaking())

    assert (caught.value.resource, caught.value.item) == ("breaking", 2)


def test_items_in_progress_when_a_limit_is_reached_are_dropped() -> None:
    @penstock.defer
    def fetch(number: int) -> int:
        return number

    def pages() -> Iterator[Any]:
        for number in range(100):
            yield fetch(number)

    assert len(read_all(penstock.resource(pages).add_limit(3))) == 3
