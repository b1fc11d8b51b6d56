"""Work items on the driver: the engine reads them in its threads."""

from __future__ import annotations

import time
from typing import Any

import pytest

import penstock
from penstock.errors import ResourceFailed, SourceExhausted, UnsupportedData, UsageError
from penstock.extract.cursor.cursors import Cursors
from penstock.extract.engine import ExtractEngine
from penstock.extract.plan import Workload
from penstock.extract.waves.driver import as_driver_flow
from penstock.sources import flows_of


def test_reading_a_resource_calls_it_for_each_item() -> None:
    @penstock.resource(work_items=lambda: [3, 1, 2])
    def squares(number: int, power: int = 2) -> Any:
        yield [{"n": number, "s": number**power}]

    assert sorted(row["s"] for row in squares(power=3)) == [1, 8, 27]


def test_returned_and_yielded_items_pass_the_steps() -> None:
    resource = penstock.resource(
        lambda item: {"id": item}, name="ids", work_items=range(3), rate_limit="200/s"
    )

    rows = sorted(row["id"] for row in resource.add_map(lambda row: {"id": row["id"] * 10}))

    assert rows == [0, 10, 20]


def test_a_limit_counts_work_items_on_the_driver() -> None:
    resource = penstock.resource(lambda item: [{"id": item}] * 3, name="ids", work_items=range(100))

    assert len(list(resource.add_limit(4))) == 12


def test_calls_keep_to_the_rate_in_all_threads() -> None:
    moments: list[float] = []

    @penstock.resource(work_items=range(12), rate_limit="50/s")
    def calls(item: int) -> Any:
        moments.append(time.monotonic())
        for number in range(3):
            yield {"id": item, "number": number}

    begun = time.monotonic()
    rows = list(calls)

    # A busy machine delays calls, so only an early call is an error.
    assert len(rows) == 36
    assert all(moment - begun >= 0.02 * turn for turn, moment in enumerate(sorted(moments), 1))


def test_a_transformer_can_take_items_from_a_resource_with_work_items() -> None:
    base = penstock.resource(lambda item: [{"id": item}, {"id": -item}], name="base", work_items=[1, 2])
    double = penstock.transformer(lambda rows: [{"d": row["id"] * 2} for row in rows], name="double")

    (flow,) = flows_of([base, base | double])
    items = ExtractEngine(as_driver_flow(flow), Workload(), Cursors({}, source="shop")).items()

    assert sorted(node.name for node, _, _ in items) == ["base", "base", "double", "double"]


def test_an_error_names_the_resource() -> None:
    def breaks(item: int) -> Any:
        yield {"id": 1 // item}

    with pytest.raises(ResourceFailed, match="parts raised ZeroDivisionError"):
        list(penstock.resource(breaks, name="parts", work_items=[0]))


def test_a_generator_of_items_is_read_once() -> None:
    resource = penstock.resource(lambda item: {"id": item}, name="ids", work_items=(n for n in range(2)))
    assert len(list(resource)) == 2

    with pytest.raises(SourceExhausted):
        flows_of(resource)


def test_a_resource_without_a_function_of_an_item_has_no_work_items() -> None:
    with pytest.raises(UsageError, match="is not a function"):
        penstock.resource([1, 2], name="ids", work_items=[1])
    with pytest.raises(UsageError, match="is not a function"):
        penstock.transformer(lambda item: item, name="ids", work_items=[1])
    with pytest.raises(UsageError, match="takes no item"):
        penstock.resource(lambda: [1], name="ids", work_items=[1])
    with pytest.raises(UsageError, match="no work items"):
        penstock.resource(lambda: [1], name="ids", rate_limit="1/s")
    with pytest.raises(UnsupportedData, match="transformer"):
        penstock.resource(lambda item: item, name="ids", work_items=penstock.resource([1], name="others"))
