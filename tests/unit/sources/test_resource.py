from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

import penstock
from penstock.errors import (
    DataItemRequiredForDynamicTableHints,
    MissingTableName,
    ResourceUnbound,
    UnsupportedData,
    UsageError,
)
from penstock.sources import DltResource, Resource

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator


def numbers(count: int = 3) -> Iterator[int]:
    yield from range(count)


async def later() -> AsyncIterator[int]:
    yield 1


@pytest.mark.parametrize(
    "data",
    [numbers, numbers(), later, later()],
    ids=["function", "generator", "asynchronous function", "asynchronous generator"],
)
def test_a_generator_names_its_resource(data: Any) -> None:
    assert penstock.resource(data).name == data.__name__


@pytest.mark.parametrize(
    "data",
    [[1, 2], (1, 2), iter([1, 2]), {1: 0, 2: 0}.keys(), partial(iter, [1, 2])],
    ids=["list", "tuple", "iterator", "view", "partial"],
)
def test_data_without_a_name_is_rejected(data: Any) -> None:
    with pytest.raises(MissingTableName):
        penstock.resource(data)

    assert list(penstock.resource(data, name="n")) == [1, 2]


@pytest.mark.parametrize("data", ["text", b"bytes", {"a": 1}, 7, object(), penstock.resource([1], name="n")])
def test_data_that_is_not_rows_is_rejected_when_declared(data: Any) -> None:
    with pytest.raises(UnsupportedData):
        penstock.resource(data, name="t")


@pytest.mark.parametrize("given", ["text", {"a": 1}, None, 7, penstock.resource([1], name="n")])
def test_a_function_without_rows_is_rejected_when_read(given: Any) -> None:
    with pytest.raises(UnsupportedData, match="the function must yield or return rows"):
        list(penstock.resource(lambda: given, name="t"))


def test_nothing_runs_before_the_first_item() -> None:
    called: list[bool] = []

    @penstock.resource
    def rows() -> list[int]:
        called.append(True)
        return [1]

    bound = rows().add_map(lambda row: row).apply_hints(write_disposition="replace")
    before = list(called)
    items = list(bound)

    assert (before, items, called) == ([], [1], [True])


def test_a_call_returns_a_copy_and_binds_once() -> None:
    rows = penstock.resource(numbers)

    bound = rows(2)

    assert (list(bound), list(rows), list(bound)) == ([0, 1], [0, 1, 2], [0, 1])
    assert (bound.args_bound, rows.args_bound, bound.explicit_args) == (True, False, {"count": 2})
    with pytest.raises(UsageError, match="are already bound"):
        bound(3)
    with pytest.raises(UsageError, match="takes no arguments"):
        penstock.resource([1], name="n")()


def test_missing_arguments_are_named() -> None:
    @penstock.resource
    def pages(first: int, last: int, *, size: int = 10) -> Iterator[int]:
        yield from range(first, last, size)

    with pytest.raises(ResourceUnbound, match="is missing last"):
        list(pages(1))
    with pytest.raises(TypeError, match="unexpected keyword"):
        pages(1, 2, colour="red")
    assert pages.requires_args
    assert list(pages(0, 20)) == [0, 10]


def test_all_kinds_of_arguments_reach_the_function() -> None:
    @penstock.resource
    def arguments(first: int, /, *rest: int, key: str, **more: Any) -> Iterator[Any]:
        yield first, rest, key, more

    assert list(arguments(1, 2, 3, key="k", extra=4)) == [(1, (2, 3), "k", {"extra": 4})]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda r: r.add_map(lambda n: n * 10), [0, 10, 20]),
        (lambda r: r.add_filter(lambda n: n != 1), [0, 2]),
        (lambda r: r.add_yield_map(lambda n: iter([n, n])), [0, 0, 1, 1, 2, 2]),
        (lambda r: r.add_step(lambda n: [n, -n]), [0, 0, 1, -1, 2, -2]),
        (lambda r: r.add_limit(2), [0, 1]),
        (lambda r: r.add_limit(2).add_filter(lambda n: n > 0), [1, 2]),
        (lambda r: r.add_limit(-1), [0, 1, 2]),
        (lambda r: r.add_limit(0), []),
        (lambda r: r | (lambda n: n + 1), [1, 2, 3]),
        (lambda r: r.add_map(lambda n: n + 1).add_map(lambda n: n * 10, insert_at=1), [1, 11, 21]),
    ],
)
def test_steps_change_the_resource_itself(
    change: Callable[[Resource], Resource], expected: list[int]
) -> None:
    rows = penstock.resource(numbers)()

    given_back = change(rows)

    assert given_back is rows
    assert list(rows) == expected


def test_a_step_can_take_the_mark_of_its_item_without_changing_defaults() -> None:
    def rows() -> Iterator[Any]:
        yield penstock.mark.with_table_name(1, "t")

    marks = [
        penstock.resource(rows, name="r").add_map(lambda item, meta: meta),
        penstock.resource(rows, name="r").add_map(lambda item, factor=10: item * factor),
        penstock.resource(rows, name="r").add_map(str),
    ]

    assert [list(step_marks) for step_marks in marks] == [
        [penstock.mark.with_table_name(1, "t").mark],
        [10],
        ["1"],
    ]


def test_a_step_that_is_not_a_function_is_rejected() -> None:
    with pytest.raises(UsageError, match="is not a function"):
        penstock.resource([1], name="n").add_map(7)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="a step cannot run before the data"):
        penstock.resource([1], name="n").add_map(str, insert_at=0)


def test_a_renamed_copy_does_not_change_the_resource() -> None:
    rows = penstock.resource(numbers)

    other = rows.with_name("others")

    assert (rows.name, other.name, other.table_name) == ("numbers", "others", "others")


def test_a_name_can_depend_on_arguments() -> None:
    @penstock.resource(name=lambda args: f"page_{args['number']}_{args['size']}")
    def page(number: int, size: int = 2) -> Iterator[int]:
        yield from range(number, number + size)

    assert (page(7).name, page.name) == ("page_7_2", "page")


def test_hints_can_be_read_and_set() -> None:
    rows = penstock.resource(numbers, write_disposition={"disposition": "merge", "strategy": "upsert"})

    rows.table_name = "all_numbers"
    rows.max_table_nesting = 2

    assert rows.write_disposition == {"disposition": "merge", "strategy": "upsert"}
    assert (rows.table_name, rows.max_table_nesting) == ("all_numbers", 2)
    rows.write_disposition = "replace"
    assert rows.compute_table_schema()["write_disposition"] == "replace"


def test_the_table_schema_of_dynamic_hints_needs_an_item() -> None:
    rows = penstock.resource(numbers, table_name=lambda item: f"n_{item}")

    assert rows.compute_table_schema(7)["name"] == "n_7"
    with pytest.raises(DataItemRequiredForDynamicTableHints, match="table_name of numbers is a function"):
        rows.compute_table_schema()


def test_the_repr_names_the_resource() -> None:
    parent = penstock.resource(numbers)

    @penstock.transformer(data_from=parent)
    def doubled(number: int) -> int:
        return number * 2

    assert repr(parent) == "<penstock.resource 'numbers', write_disposition='append'>"
    assert "data_from='numbers'" in repr(doubled)


def test_the_names_of_dlt_are_aliases() -> None:
    assert DltResource is Resource
    assert isinstance(penstock.resource([1], name="n"), penstock.sources.DltResource)


def test_data_cannot_be_parallelized() -> None:
    with pytest.raises(UnsupportedData, match="cannot load a list: only generators and functions"):
        penstock.resource([1, 2], name="n", parallelized=True)


def test_a_frame_is_one_item() -> None:
    frame = pd.DataFrame({"a": [1, 2]})

    (item,) = penstock.resource(frame, name="f")

    assert item is frame


def test_a_function_annotated_to_return_a_resource_is_called_when_declared() -> None:
    @penstock.resource
    def pages(count: int = 2) -> DltResource:
        inner: DltResource = penstock.resource(numbers, name="inner", write_disposition="replace")(count)
        return inner

    declared = pages(1)

    assert (declared.name, declared.write_disposition, list(declared)) == ("inner", "replace", [0])
