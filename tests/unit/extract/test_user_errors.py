"""Errors of user code are raised with their resource, their item and their traceback."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Any

import pytest
from tests.step_failures import step_raises
from tests.unit.extract.extraction import extract_data

import penstock
from penstock.errors import DataError, IncrementalCursorInvalidCoercion, ResourceFailed
from penstock.extract.plan import Workload
from penstock.package import Packages

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from pathlib import Path


class Broken(Exception):
    """An error class of a user."""


def breaking(*_: Any, **__: Any) -> Any:
    raise Broken("on purpose")


class BreaksWhenWritten:
    def model_dump(self, **_: Any) -> Any:
        return breaking()


class BreaksWhenRead:
    def __iter__(self) -> Iterator[Any]:
        yield {"n": 1}
        breaking()


def numbers(**hints: Any) -> Any:
    return penstock.resource([{"n": 1}, {"n": 2}], name="orders", **hints)


def generator() -> Iterator[Any]:
    yield {"n": 1}
    breaking()


def on_closing() -> Iterator[Any]:
    try:
        yield {"n": 1}
        yield {"n": 2}
    finally:
        breaking()


async def later() -> AsyncIterator[Any]:
    yield {"n": 1}
    breaking()


@penstock.defer
def deferred() -> Any:
    return breaking()


def second(item: Any, *_: Any) -> Any:
    return breaking() if item["n"] == 2 else item


def picked(values: Any) -> Any:
    return breaking() if 2 in values else max(values)


def marked() -> Iterator[Any]:
    yield {"n": 1}
    yield penstock.mark.with_hints({"n": 2}, penstock.mark.make_hints(table_name=breaking))


PLACES: dict[str, tuple[Callable[[], Any], int]] = {
    "a generator": (lambda: penstock.resource(generator, name="orders"), 2),
    "a generator in a thread": (lambda: penstock.resource(generator, name="orders", parallelized=True), 2),
    "a generator that is closed": (lambda: penstock.resource(on_closing, name="orders").add_limit(1), 2),
    "an asynchronous generator": (lambda: penstock.resource(later, name="orders"), 2),
    "a function that is called": (lambda: penstock.resource(breaking, name="orders"), 1),
    "an object that is iterated": (lambda: penstock.resource(BreaksWhenRead(), name="orders"), 2),
    "a call that was put off": (
        lambda: penstock.resource(lambda: iter([deferred()]), name="orders"),
        1,
    ),
    "a map": (lambda: numbers().add_map(second), 2),
    "a filter": (lambda: numbers().add_filter(second), 2),
    "a map that yields": (lambda: numbers().add_yield_map(lambda item: iter([second(item)])), 2),
    "a step": (lambda: numbers().add_step(second), 2),
    "a metric": (lambda: numbers().add_metrics(breaking), 1),
    "the last value of a cursor": (
        lambda: numbers(incremental=penstock.sources.incremental("n", last_value_func=breaking)),
        1,
    ),
    "the last value of a cursor that goes on": (
        lambda: numbers(
            incremental=penstock.sources.incremental("n", initial_value=1, last_value_func=picked)
        ),
        2,
    ),
    "a transformer": (
        lambda: (
            penstock.resource([{"n": 1}, {"n": 2}], name="n") | penstock.transformer(second, name="orders")
        ),
        2,
    ),
    "a transformer in threads": (
        lambda: (
            penstock.resource([{"n": 2}], name="n")
            | penstock.transformer(second, name="orders", parallelized=True)
        ),
        1,
    ),
    "the name of a table": (lambda: numbers(table_name=breaking), 1),
    "a hint": (lambda: numbers(table_name=lambda _: "t", write_disposition=breaking), 1),
    "the hints of a mark": (lambda: penstock.resource(marked, name="orders"), 2),
    "the work items": (lambda: penstock.resource(breaking, name="orders", work_items=[{"n": 1}]), 1),
    "the list of work items": (lambda: penstock.resource(second, name="orders", work_items=breaking), 1),
    "a row that is written": (lambda: penstock.resource([{"n": BreaksWhenWritten()}], name="orders"), 1),
    "a model that is written": (lambda: penstock.resource([BreaksWhenWritten()], name="orders"), 1),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_user_error_names_its_resource_and_item_and_keeps_its_traceback(place: str, tmp_path: Path) -> None:
    make, item = PLACES[place]
    pipeline = penstock.pipeline("shop", pipelines_dir=tmp_path)

    with step_raises(ResourceFailed, step="extract") as caught:
        pipeline.extract(make())

    error = caught.value
    assert (error.resource, error.item, error.cause) == ("orders", item, "Broken('on purpose')")
    assert isinstance(error.__cause__, Broken)
    frames = traceback.extract_tb(error.__cause__.__traceback__)
    assert frames[-1].name == "breaking"
    assert 'raise Broken("on purpose")' in error.traceback
    assert error.stage == "extract"
    assert error.load_id == caught.failed[0].load_id is not None
    assert pipeline.list_extracted_load_packages() == []


@pytest.mark.parametrize("place", PLACES)
def test_other_resources_continue_with_on_error_continue(place: str, tmp_path: Path) -> None:
    make, _ = PLACES[place]
    other = penstock.resource([{"n": 7}], name="others")
    package = Packages.at(str(tmp_path)).package("17.5")

    done = extract_data([make(), other], package, workload=Workload(on_error="continue"))

    assert isinstance(done.report.failures["orders"], ResourceFailed)
    assert done.report.resources["others"] == 1


def test_incomparable_values_are_not_reported_as_errors_of_last_value_func(
    tmp_path: Path,
) -> None:
    cursor = penstock.sources.incremental("n", initial_value="1", last_value_func=lambda both: max(both))  # noqa: PLW0108 - not max itself

    with step_raises(IncrementalCursorInvalidCoercion, step="extract") as caught:
        penstock.pipeline("shop", pipelines_dir=tmp_path).extract(numbers(incremental=cursor))

    assert caught.value.got == "1, int"


def test_an_error_without_a_repr_is_reported_by_its_class(tmp_path: Path) -> None:
    class Shy(Exception):
        def __repr__(self) -> str:
            raise KeyError("no text")

        __str__ = __repr__

    def rows() -> Iterator[Any]:
        yield {"n": 1}
        raise Shy

    with step_raises(ResourceFailed) as caught:
        penstock.pipeline("shop", pipelines_dir=tmp_path).extract(rows, table_name="orders")

    assert caught.value.cause == "Shy(<KeyError in its repr>)"
    assert isinstance(caught.value.__cause__, Shy)


def test_the_root_cause_of_a_java_error_is_reported(tmp_path: Path) -> None:
    class Py4JJavaError(Exception):
        def __str__(self) -> str:
            return (
                "An error occurred while calling o7.parquet.\n: org.x.SparkException: Job aborted.\n"
                "\tat org.x.A\nCaused by: java.lang.ArithmeticException: / by zero\n\tat org.x.B\n"
            )

    def rows() -> Iterator[Any]:
        yield 1
        raise Py4JJavaError("An error occurred while calling o7.parquet.\n", object())

    with step_raises(ResourceFailed) as caught:
        penstock.pipeline("shop", pipelines_dir=tmp_path).extract(rows, table_name="orders")

    assert caught.value.cause == "Py4JJavaError('java.lang.ArithmeticException: / by zero')"


def test_a_penstock_error_in_user_code_is_not_wrapped(tmp_path: Path) -> None:
    error = DataError("no such page")

    def rows() -> Iterator[Any]:
        yield {"n": 1}
        raise error

    with step_raises(DataError) as caught:
        penstock.pipeline("shop", pipelines_dir=tmp_path).extract(rows, table_name="orders")

    assert caught.value is error


def test_a_secret_in_the_message_of_a_user_error_is_masked(tmp_path: Path) -> None:
    def rows() -> Iterator[Any]:
        yield {"n": 1}
        raise ConnectionError("postgresql://ada:lovelace@db:5432 refused")

    with step_raises(ResourceFailed) as caught:
        penstock.pipeline("shop", pipelines_dir=tmp_path).extract(rows, table_name="orders")

    assert "lovelace" not in str(caught.value)
    assert "lovelace" not in caught.value.traceback
    assert "lovelace" not in str(caught.failed[0])
