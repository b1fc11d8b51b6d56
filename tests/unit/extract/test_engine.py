from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.extract.extraction import read_all

import penstock
from penstock.errors import ResourceFailed, UnsupportedData, UsageError
from penstock.extract.engine import ExtractEngine
from penstock.extract.plan import Workload
from penstock.sources import flows_of

if TYPE_CHECKING:
    from collections.abc import Iterator


def counting(name: str, count: int) -> Any:
    return penstock.resource(lambda: iter(range(count)), name=name)


def test_resources_take_turns_one_item_each() -> None:
    items = read_all([counting("a", 3), counting("b", 1), counting("c", 2)])

    assert items == [("a", 0), ("b", 0), ("c", 0), ("a", 1), ("c", 1), ("a", 2)]


def test_fifo_reads_one_resource_after_the_other() -> None:
    items = read_all([counting("a", 2), counting("b", 2)], next_item_mode="fifo")

    assert items == [("a", 0), ("a", 1), ("b", 0), ("b", 1)]


def test_rows_keep_the_order_in_which_generators_yield_them() -> None:
    @penstock.transformer
    def parts(item: int) -> Iterator[str]:
        for part in range(2):
            yield f"{item}{part}"

    @penstock.transformer
    def letters(item: str) -> Iterator[str]:
        yield from (f"{item}{letter}" for letter in "xy")

    items = [item for _, item in read_all(counting("n", 2) | parts | letters)]

    assert items == ["00x", "00y", "01x", "01y", "10x", "10y", "11x", "11y"]


def test_an_item_is_yielded_before_the_next_one_is_read() -> None:
    """A generator may change a row and yield it again."""

    @penstock.resource
    def reusing() -> Iterator[dict[str, int]]:
        row = {"n": 0}
        for number in range(3):
            row["n"] = number
            yield row

    (flow,) = flows_of([reusing(), counting("b", 3)])

    seen = [dict(item) for node, item, _ in ExtractEngine(flow, Workload()).items() if node.name == "reusing"]

    assert seen == [{"n": 0}, {"n": 1}, {"n": 2}]


def test_a_parent_is_read_again_only_after_its_transformers_are_done() -> None:
    log: list[str] = []

    @penstock.resource(selected=False)
    def pages() -> Iterator[int]:
        for number in range(2):
            log.append(f"page {number}")
            yield number

    @penstock.transformer(data_from=pages)
    def rows(page: int) -> Iterator[int]:
        for number in range(2):
            log.append(f"row {page}{number}")
            yield number

    read_all(rows())

    assert log == ["page 0", "row 00", "row 01", "page 1", "row 10", "row 11"]


def test_generators_are_closed_when_reading_ends_early() -> None:
    closed: list[str] = []

    def endless(name: str) -> Any:
        def rows() -> Iterator[int]:
            try:
                while True:
                    yield 1
            finally:
                closed.append(name)

        return penstock.resource(rows, name=name)

    @penstock.transformer
    def forever(item: int) -> Iterator[int]:
        try:
            while True:
                yield item
        finally:
            closed.append("forever")

    (flow,) = flows_of([endless("a"), endless("b") | forever])

    with closing(ExtractEngine(flow, Workload()).items()) as reading:
        for _ in range(5):
            next(reading)

    assert sorted(closed) == ["a", "b", "forever"]


def test_a_limit_closes_only_its_generator() -> None:
    log: list[str] = []

    @penstock.resource
    def endless() -> Iterator[int]:
        try:
            yield from range(1000)
        finally:
            log.append("closed")

    items = read_all([endless().add_limit(2), counting("b", 4)])

    assert [item for name, item in items if name == "endless"] == [0, 1]
    assert len(items) == 6
    assert log == ["closed"]


def test_transformers_finish_after_the_limit_of_their_parent() -> None:
    @penstock.transformer
    def twice(item: int) -> Iterator[int]:
        yield item
        yield item

    items = read_all(counting("n", 9).add_limit(2) | twice)

    assert [item for _, item in items] == [0, 0, 1, 1]


def test_a_limit_of_zero_reads_no_item() -> None:
    begun: list[bool] = []

    @penstock.resource
    def rows() -> Iterator[int]:
        begun.append(True)
        yield 1

    assert read_all(rows().add_limit(0)) == []
    assert begun == []


def test_a_limit_of_time_ends_an_endless_resource() -> None:
    def endless() -> Iterator[int]:
        while True:
            yield 1

    items = read_all(penstock.resource(endless, name="e").add_limit(max_time=0.05))

    assert len(items) > 0


@pytest.mark.parametrize("first", [0, 1, 5])
def test_an_error_names_the_resource_the_item_and_the_code(first: int) -> None:
    @penstock.resource
    def breaking() -> Iterator[int]:
        yield from range(first)
        raise KeyError("gone")

    with pytest.raises(ResourceFailed) as caught:
        read_all([breaking(), counting("b", 9)])

    error = caught.value
    assert (error.resource, error.item, error.cause) == ("breaking", first + 1, "KeyError('gone')")
    assert isinstance(error.__cause__, KeyError)
    assert 'raise KeyError("gone")' in error.traceback
    assert error.message == f"breaking raised KeyError('gone') at item {first + 1}"


@pytest.mark.parametrize(
    "change",
    [
        lambda r: r.add_map(lambda item: 1 // (item - 2)),
        lambda r: r.add_filter(lambda item: 1 // (item - 2)),
        lambda r: r.add_yield_map(lambda item: iter([1 // (item - 2)])),
        lambda r: r | penstock.transformer(lambda item: 1 // (item - 2), name="n"),
    ],
)
def test_an_error_in_a_step_names_its_item(change: Any) -> None:
    with pytest.raises(ResourceFailed) as caught:
        read_all(change(counting("n", 5)))

    assert (caught.value.resource, caught.value.item) == ("n", 3)


def test_penstock_errors_and_interrupts_are_not_wrapped() -> None:
    def usage() -> Iterator[int]:
        yield 1
        raise UsageError("no such page")

    def interrupted() -> Iterator[int]:
        yield 1
        raise KeyboardInterrupt

    with pytest.raises(UsageError, match="no such page"):
        read_all(penstock.resource(usage))
    with pytest.raises(KeyboardInterrupt):
        read_all(penstock.resource(interrupted))


def test_other_generators_are_closed_after_an_error() -> None:
    closed: list[bool] = []

    def endless() -> Iterator[int]:
        try:
            while True:
                yield 1
        finally:
            closed.append(True)

    def breaking() -> Iterator[int]:
        yield 1
        raise ValueError

    with pytest.raises(ResourceFailed):
        read_all([penstock.resource(endless), penstock.resource(breaking)])

    assert closed == [True]


def test_an_error_while_closing_does_not_hide_the_first_error() -> None:
    def clumsy() -> Iterator[int]:
        try:
            while True:
                yield 1
        finally:
            raise OSError("still open")

    def breaking() -> Iterator[int]:
        yield 1
        raise ValueError("no")

    with pytest.raises(ResourceFailed, match="breaking raised ValueError") as caught:
        read_all([penstock.resource(clumsy), penstock.resource(breaking)])

    assert "clumsy raised OSError" in caught.value.__notes__[0]


def test_an_error_while_a_limit_closes_a_generator_is_reported() -> None:
    def clumsy() -> Iterator[int]:
        try:
            while True:
                yield 1
        finally:
            raise OSError("still open")

    with pytest.raises(ResourceFailed, match="clumsy raised OSError"):
        read_all(penstock.resource(clumsy).add_limit(1))


def test_a_resource_that_yields_a_resource_is_an_error() -> None:
    def wrong() -> Iterator[Any]:
        yield counting("inner", 1)

    with pytest.raises(UnsupportedData, match="wrong yielded a declaration"):
        read_all(penstock.resource(wrong))


def test_a_coroutine_is_not_a_resource() -> None:
    async def wrong() -> list[int]:
        return [1]

    with pytest.raises(UnsupportedData, match="must yield its items"):
        read_all(penstock.resource(wrong))


def test_an_invalid_cursor_is_refused() -> None:
    with pytest.raises(UsageError, match="is not an incremental"):
        penstock.resource([{"id": 1}], name="orders", incremental=object())


def test_metrics_are_counted_for_each_item() -> None:
    def count(item: Any, _: Any, metrics: dict[str, Any]) -> None:
        metrics["items"] = metrics.get("items", 0) + 1

    (flow,) = flows_of(counting("n", 4).add_filter(lambda item: item > 0).add_metrics(count))
    engine = ExtractEngine(flow, Workload())

    list(engine.items())

    assert engine.roots[0].metrics == {"items": 3}
