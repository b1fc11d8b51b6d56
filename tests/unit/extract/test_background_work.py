"""Background work for items: concurrent for several resources, in order for one resource."""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from penstock.errors import PenstockError, ResourceFailed
from penstock.extract.engine import ExtractEngine
from penstock.extract.plan import Workload
from penstock.interfaces.source import Flow, Stream

if TYPE_CHECKING:
    from collections.abc import Callable


def engine_of(*streams: Stream, **load: Any) -> ExtractEngine:
    return ExtractEngine(Flow(name="shop", streams=streams), Workload(**load))


def run_work(engine: ExtractEngine, work: Callable[[Any], Any]) -> list[Any]:
    done: list[Any] = []
    for node, item, _ in engine.items():
        engine.submit(node, partial(work, item), done.append)
    return done


def test_work_of_two_resources_runs_concurrently() -> None:
    together = threading.Barrier(2, timeout=10)
    streams = [Stream(name=name, open=lambda name=name: iter([name])) for name in ("a", "b")]

    results = run_work(engine_of(*streams), lambda item: (together.wait(), item)[1])

    assert sorted(results) == ["a", "b"]


def test_a_resource_is_blocked_until_the_work_for_its_item_is_done() -> None:
    log: list[str] = []

    def rows() -> Any:
        for number in range(3):
            log.append(f"gives {number}")
            yield number

    def write(item: int) -> int:
        log.append(f"writes {item}")
        return item

    results = run_work(engine_of(Stream(name="a", open=rows)), write)

    assert results == [0, 1, 2]
    assert log == [text for number in range(3) for text in (f"gives {number}", f"writes {number}")]


def test_items_of_a_blocked_resource_are_processed_in_order() -> None:
    engine = engine_of(Stream(name="a", open=lambda: iter([0])))
    done: list[int] = []
    first = threading.Event()
    for node, _, _ in engine.items():
        engine.submit(node, lambda: first.wait(10), lambda _: done.append(1))
        engine.submit(node, lambda: None, lambda _: done.append(2))
        first.set()

    assert done == [1, 2]


def test_a_failure_of_background_work_excludes_only_its_resource() -> None:
    def work(item: str) -> str:
        if item == "a":
            raise ValueError("the disk is full")
        return item

    streams = [Stream(name=name, open=lambda name=name: iter([name])) for name in ("a", "b")]
    engine = engine_of(*streams, on_error="continue")

    assert run_work(engine, work) == ["b"]
    assert isinstance(engine.failures["a"], ResourceFailed)
    with pytest.raises(PenstockError, match="the disk is full"):
        run_work(engine_of(*streams), work)


def test_a_pause_waits_for_running_work() -> None:
    engine = engine_of(Stream(name="a", open=lambda: iter(range(5))))
    done: list[int] = []
    for node, item, _ in engine.items():
        engine.submit(node, partial(int, item), done.append)
        engine.pause()

    assert engine.is_paused
    assert done == [0]
    engine.close()


def test_generators_of_blocked_resources_are_closed() -> None:
    closed: list[bool] = []

    def rows() -> Any:
        try:
            yield 1
            yield 2
        finally:
            closed.append(True)

    def work(_: Any) -> None:
        raise ValueError("no")

    with pytest.raises(PenstockError):
        run_work(engine_of(Stream(name="a", open=rows)), work)
    assert closed == [True]
