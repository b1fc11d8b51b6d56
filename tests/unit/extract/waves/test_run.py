"""The backlog returns each pending item once, wave by wave."""

from __future__ import annotations

from collections import Counter
from datetime import date
from itertools import count, islice
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock
from penstock.errors import UnsupportedData, UsageError
from penstock.extract.waves.items import iter_work_items, to_work_item
from penstock.extract.waves.run import Backlog
from penstock.sources import flows_of

if TYPE_CHECKING:
    from penstock.interfaces.source import Stream

json_values = st.recursive(
    st.booleans()
    | st.integers()
    | st.text()
    | st.dates()
    | st.datetimes()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


def stream_of(work_items: Any, **limit: Any) -> Stream:
    resource = penstock.resource(lambda item: {"id": item}, name="ids", work_items=work_items)
    (flow,) = flows_of(resource.add_limit(**limit) if limit else resource)
    return flow.streams[0]


def take_all(backlog: Backlog, most: int) -> list[Any]:
    values: list[Any] = []
    while items := backlog.take(most):
        values += [item.value for item in items]
    return values


@given(
    items=st.lists(st.integers(0, 5), max_size=30),
    done=st.lists(st.integers(0, 5), max_size=10),
    most=st.integers(1, 7),
)
def test_finished_items_are_not_repeated(items: list[int], done: list[int], most: int) -> None:
    done_counts = Counter(to_work_item(value).digest for value in done)

    values = take_all(Backlog(stream_of(items), done_counts=done_counts), most)

    assert Counter(values) == Counter(items) - Counter(done)


def test_an_endless_generator_of_items_is_read_only_for_the_next_wave() -> None:
    numbers = count()

    backlog = Backlog(stream_of(numbers), done_counts=Counter())

    assert [item.value for item in backlog.take(3)] == [0, 1, 2]
    assert next(numbers) == 3


def test_returned_items_are_first_in_the_next_wave() -> None:
    backlog = Backlog(stream_of(range(6)), done_counts=Counter())
    first = backlog.take(4)

    backlog.return_items(first[2:])

    assert [item.value for item in backlog.take(10)] == [2, 3, 4, 5]


def test_a_limit_counts_work_items_including_finished_ones() -> None:
    done = Counter([to_work_item(1).digest])

    assert take_all(Backlog(stream_of(count(), max_items=4), done_counts=done), 10) == [0, 2, 3]
    assert take_all(Backlog(stream_of(count(), max_time=0.0), done_counts=Counter()), 10) == []
    with pytest.raises(UsageError, match="rows cannot be limited"):
        Backlog(stream_of(range(3), max_items=4, count_rows=True), done_counts=Counter())


def test_large_items_make_small_waves() -> None:
    backlog = Backlog(stream_of(["x" * 3_000_000] * 5), done_counts=Counter())

    assert len(backlog.take(5)) == 3


@given(value=json_values.filter(lambda value: value is not None))
def test_the_digest_of_an_item_depends_on_its_value_alone(value: Any) -> None:
    item = to_work_item(value)

    assert item.value == value
    assert item.digest == to_work_item(item.value).digest


def test_items_can_be_a_function_and_none_is_no_item() -> None:
    values = iter_work_items(lambda: islice(iter([1, None, date(2024, 1, 2)]), 3))

    assert [item.value for item in values] == [1, date(2024, 1, 2)]


@pytest.mark.parametrize("value", [object(), {1, 2}, 1j])
def test_a_value_without_a_json_form_is_no_work_item(value: Any) -> None:
    with pytest.raises(UsageError, match="cannot be a work item"):
        to_work_item(value)


@pytest.mark.parametrize("items", ["abc", b"abc", {"a": 1}, 7])
def test_a_single_value_is_no_list_of_items(items: Any) -> None:
    with pytest.raises(UnsupportedData):
        stream_of(items)
    with pytest.raises(UnsupportedData):
        list(iter_work_items(lambda: items))
