"""Items are handed out once, wave by wave, and those that are done are left out."""

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
    made = penstock.resource(lambda item: {"id": item}, name="ids", work_items=work_items)
    (flow,) = flows_of(made.add_limit(**limit) if limit else made)
    return flow.streams[0]


def taken(backlog: Backlog, most: int) -> list[Any]:
    found: list[Any] = []
    while items := backlog.take(most):
        found += [item.value for item in items]
    return found


@given(
    items=st.lists(st.integers(0, 5), max_size=30),
    done=st.lists(st.integers(0, 5), max_size=10),
    most=st.integers(1, 7),
)
def test_what_was_done_as_often_as_it_is_listed_is_left_out(
    items: list[int], done: list[int], most: int
) -> None:
    before = Counter(to_work_item(value).digest for value in done)

    found = taken(Backlog(stream_of(items), done_counts=before), most)

    assert Counter(found) == Counter(items) - Counter(done)


def test_a_generator_without_end_is_read_as_far_as_a_wave_needs() -> None:
    numbers = count()

    backlog = Backlog(stream_of(numbers), done_counts=Counter())

    assert [item.value for item in backlog.take(3)] == [0, 1, 2]
    assert next(numbers) == 3


def test_items_without_time_come_first_in_the_next_wave() -> None:
    backlog = Backlog(stream_of(range(6)), done_counts=Counter())
    first = backlog.take(4)

    backlog.return_items(first[2:])

    assert [item.value for item in backlog.take(10)] == [2, 3, 4, 5]


def test_a_limit_is_one_of_items_and_counts_those_that_were_done_before() -> None:
    done = Counter([to_work_item(1).digest])

    assert taken(Backlog(stream_of(count(), max_items=4), done_counts=done), 10) == [0, 2, 3]
    assert taken(Backlog(stream_of(count(), max_time=0.0), done_counts=Counter()), 10) == []
    with pytest.raises(UsageError, match="rows cannot be limited"):
        Backlog(stream_of(range(3), max_items=4, count_rows=True), done_counts=Counter())


def test_large_items_make_small_waves() -> None:
    backlog = Backlog(stream_of(["x" * 3_000_000] * 5), done_counts=Counter())

    assert len(backlog.take(5)) == 3


@given(value=json_values.filter(lambda value: value is not None))
def test_an_item_is_known_by_its_value_and_arrives_as_it_was(value: Any) -> None:
    item = to_work_item(value)

    assert item.value == value
    assert item.digest == to_work_item(item.value).digest


def test_items_may_be_a_function_and_none_is_no_item() -> None:
    found = iter_work_items(lambda: islice(iter([1, None, date(2024, 1, 2)]), 3))

    assert [item.value for item in found] == [1, date(2024, 1, 2)]


@pytest.mark.parametrize("value", [object(), {1, 2}, 1j])
def test_what_json_cannot_hold_is_no_item(value: Any) -> None:
    with pytest.raises(UsageError, match="cannot be a work item"):
        to_work_item(value)


@pytest.mark.parametrize("items", ["abc", b"abc", {"a": 1}, 7])
def test_one_value_is_no_list_of_items(items: Any) -> None:
    with pytest.raises(UnsupportedData):
        stream_of(items)
    with pytest.raises(UnsupportedData):
        list(iter_work_items(lambda: items))
