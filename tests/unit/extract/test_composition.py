"""Maps, filters, limits and selections, compared with plain Python."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial, reduce
from itertools import islice
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.extract.extraction import read_all

import penstock

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

numbers = st.integers(-9, 9)
pages = st.lists(numbers | st.lists(numbers, max_size=4), max_size=12)


@dataclass(frozen=True)
class Given:
    """A step of a resource, and the same step in plain Python."""

    kind: str
    amount: int

    def add_to(self, resource: Any) -> None:
        match self.kind:
            case "map":
                resource.add_map(self._moved)
            case "filter":
                resource.add_filter(self._fits)
            case _:
                resource.add_yield_map(self._repeated)

    def applied(self, items: Iterable[Any]) -> Iterator[Any]:
        for item in items:
            match self.kind:
                case "map":
                    yield [self._moved(row) for row in item] if isinstance(item, list) else self._moved(item)
                case "filter":
                    yield from self._filtered(item)
                case _:
                    for row in item if isinstance(item, list) else [item]:
                        yield from self._repeated(row)

    def _filtered(self, item: Any) -> Iterator[Any]:
        if not isinstance(item, list):
            yield from [item] if self._fits(item) else []
            return
        rows = [row for row in item if self._fits(row)]
        yield from [rows] if rows or not item else []

    def _moved(self, row: int) -> int:
        return row + self.amount

    def _fits(self, row: int) -> bool:
        return row % (abs(self.amount) + 1) == 0

    def _repeated(self, row: int) -> Iterator[int]:
        yield from [row] * (abs(self.amount) % 3)


steps = st.lists(st.builds(Given, st.sampled_from(["map", "filter", "yield_map"]), numbers), max_size=4)


def flat(items: Iterable[Any]) -> list[int]:
    return [row for item in items for row in (item if isinstance(item, list) else [item])]


@given(data=pages, given_steps=steps, limit=st.none() | st.integers(0, 15))
def test_steps_and_limits_have_the_result_of_plain_python(
    data: list[Any], given_steps: list[Given], limit: int | None
) -> None:
    resource = penstock.resource(lambda: iter(data), name="n")
    expected: Iterable[Any] = data
    for step in given_steps:
        step.add_to(resource)
        expected = step.applied(expected)

    items = read_all(resource.add_limit(limit))

    assert [item for _, item in items] == list(islice(expected, limit))


@given(data=pages, limit=st.integers(0, 15))
def test_a_limit_of_rows_keeps_the_page_that_exceeds_it(data: list[Any], limit: int) -> None:
    expected: list[Any] = []
    for item in data:
        if len(flat(expected)) >= limit:
            break
        expected.append(item)

    items = read_all(penstock.resource(lambda: iter(data), name="n").add_limit(limit, count_rows=True))

    assert [item for _, item in items] == expected


def appended(number: int, item: int) -> int:
    return item * 10 + number


@given(
    feeds=st.lists(st.integers(0, 6), min_size=1, max_size=7),
    chosen=st.sets(st.integers(0, 6), max_size=7),
)
def test_any_selection_loads_only_the_selected_resources(feeds: list[int], chosen: set[int]) -> None:
    """Node n reads node `feeds[n] % n`; the first node reads a list."""
    resources = [penstock.resource(range(3), name="r0")]
    ways: list[tuple[int, ...]] = [()]
    for number, feed in enumerate(feeds[1:], start=1):
        parent = feed % number
        add = partial(appended, number)
        resources.append(penstock.transformer(add, name=f"r{number}", data_from=resources[parent]))
        ways.append((*ways[parent], number))
    names = [f"r{number}" for number in sorted(chosen) if number < len(resources)]

    source = penstock.source(lambda: resources, name="tree")().with_resources(*names)
    items = read_all(source)

    assert sorted(items) == sorted(
        (name, reduce(lambda item, number: appended(number, item), ways[int(name[1:])], item))
        for name in names
        for item in range(3)
    )
