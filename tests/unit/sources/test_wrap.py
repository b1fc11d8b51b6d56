from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pytest

from penstock.errors import MissingTableName, UnsupportedData
from penstock.sources import as_resource

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator


def numbers() -> Iterator[int]:
    yield from range(3)


async def later() -> AsyncIterator[int]:
    yield 1


@pytest.mark.parametrize("data", [numbers, numbers()], ids=["function", "generator"])
def test_a_generator_names_its_own_table(data: Any) -> None:
    resource = as_resource(data)

    assert (resource.name, resource.table_name) == ("numbers", "numbers")
    assert list(resource.rows()) == [0, 1, 2]


def test_a_given_name_wins() -> None:
    assert as_resource(numbers, table_name="other").table_name == "other"


@pytest.mark.parametrize(
    "data",
    [[1, 2], (1, 2), iter([1, 2]), {1: 0, 2: 0}.keys(), partial(iter, [1, 2])],
    ids=["list", "tuple", "iterator", "view", "partial"],
)
def test_what_has_no_name_needs_one(data: Any) -> None:
    with pytest.raises(MissingTableName):
        as_resource(data)

    assert list(as_resource(data, table_name="n").rows()) == [1, 2]


def test_nothing_runs_until_rows_are_asked_for() -> None:
    called: list[bool] = []

    def rows() -> list[int]:
        called.append(True)
        return [1]

    resource = as_resource(rows)
    before = list(called)
    list(resource.rows())

    assert (before, called) == ([], [True])


@pytest.mark.parametrize("data", ["text", b"bytes", {"a": 1}, 7, None, object(), later, later()])
def test_what_is_not_rows_is_refused(data: Any) -> None:
    with pytest.raises(UnsupportedData):
        as_resource(data, table_name="t")


FRAMES = {
    "pandas": lambda: pd.DataFrame({"a": [1, 2]}),
    "arrow": lambda: pa.table({"a": [1, 2]}),
    "batch": lambda: pa.record_batch({"a": [1, 2]}),
    "reader": lambda: pa.table({"a": [1, 2]}).to_reader(),
}


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_a_frame_is_refused_instead_of_loading_the_names_of_its_columns(make: Callable[[], Any]) -> None:
    with pytest.raises(UnsupportedData, match="frames as data are not supported yet"):
        as_resource(make(), table_name="t")


@pytest.mark.parametrize("make", [FRAMES["pandas"], FRAMES["reader"]], ids=["pandas", "reader"])
def test_a_function_that_gives_a_frame_is_refused_when_it_is_called(make: Callable[[], Any]) -> None:
    resource = as_resource(make, table_name="t")

    with pytest.raises(UnsupportedData):
        resource.rows()


@pytest.mark.parametrize("given", ["text", {"a": 1}, None, 7])
def test_a_function_that_gives_no_rows_is_refused_when_it_is_called(given: Any) -> None:
    resource = as_resource(lambda: given, table_name="t")

    with pytest.raises(UnsupportedData, match="the function must give rows"):
        resource.rows()
