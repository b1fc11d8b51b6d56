"""Gates of loads without Spark: bounds for all rows of a table in a load."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

import penstock
from penstock import destinations, gates
from penstock.errors import ChecksFailed, PipelineStepFailed, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.interfaces.check import Check
    from penstock.pipeline.pipeline import Pipeline

NOW = datetime.now(UTC)
ORDERS: list[dict[str, Any]] = [
    {"id": 1, "customer": "a", "at": NOW - timedelta(hours=3), "items": [{"sku": "A7"}, {"sku": "B2"}]},
    {"id": 2, "customer": None, "at": NOW - timedelta(hours=2), "items": [{"sku": "A7"}]},
    {"id": 2, "customer": None, "at": None, "items": []},
    {"id": None, "customer": "b", "at": None, "items": []},
]

pytestmark = pytest.mark.usefixtures("no_spark")


@pytest.fixture
def pipeline(tmp_path: Path) -> Pipeline:
    lake = destinations.delta(bucket_url=str(tmp_path / "lake"))
    return penstock.pipeline(
        "shop", destination=lake, dataset_name="demo", pipelines_dir=str(tmp_path / "pipelines")
    )


@pytest.mark.parametrize(
    ("gate", "problem"),
    [
        (gates.row_count("orders", minimum=4, maximum=4), None),
        (gates.row_count("orders__items", minimum=4), "3 rows; expected: at least 4 rows"),
        (gates.row_count("refunds", minimum=1), "0 rows; expected: at least 1 rows"),
        (gates.row_count("orders", max_change=0.1), None),
        (gates.null_share("orders", "customer", maximum=0.5), None),
        (
            gates.null_share("orders", "customer", maximum=0.2),
            "NULL in 50 % of 4 rows; expected: customer",
        ),
        (gates.null_share("orders", "missing"), "NULL in 100 % of 4 rows"),
        (gates.unique("orders", "id", "customer"), None),
        (gates.unique("orders", "id"), "1 row with the value of another; expected"),
        (gates.freshness("orders", "at", max_age=timedelta(hours=4)), None),
        (
            gates.freshness("orders", "at", max_age=3600),
            " old; expected: the newest at is at most 1:",
        ),
        (gates.freshness("orders", "missing", max_age=3600), "no value"),
    ],
)
def test_a_gate_stops_the_load_unless_its_bound_holds(
    pipeline: Pipeline, gate: Check, problem: str | None
) -> None:
    if problem is None:
        pipeline.run(ORDERS, table_name="orders", gates=[gate])
    else:
        with pytest.raises(PipelineStepFailed) as failure:
            pipeline.run(ORDERS, table_name="orders", gates=[gate])
        assert isinstance(failure.value.exception, ChecksFailed)
        assert problem in failure.value.exception.message

    assert pipeline.first_run == (problem is not None)
    (result,) = pipeline.last_trace.last_normalize_info.checks  # type: ignore[union-attr]
    assert (result.name, result.passed) == (gate.name, problem is None)


def test_gates_of_a_pipeline_hold_for_each_load_and_are_stored_with_it(tmp_path: Path) -> None:
    pipeline = penstock.pipeline(
        "shop",
        destination=destinations.delta(bucket_url=str(tmp_path / "lake")),
        dataset_name="demo",
        pipelines_dir=str(tmp_path / "pipelines"),
        gates=[gates.row_count("orders", minimum=2, on_fail="warn")],
    )

    pipeline.run(ORDERS, table_name="orders")
    info = pipeline.run(ORDERS[:1], table_name="orders")

    rows = pipeline.dataset()["_dlt_checks"].arrow().to_pylist()
    assert sorted((row["kind"], row["passed"], row["total_rows"], row["observed"]) for row in rows) == [
        ("row_count", False, 1, "1 row"),
        ("row_count", True, 4, "4 rows"),
    ]
    assert "check 'row count' of orders failed: 1 row; expected: at least 2 rows" in str(info)


def test_row_counts_are_compared_with_the_mean_of_the_last_loads(pipeline: Pipeline) -> None:
    for count in (1, 3, 5):
        pipeline.run([{"id": number} for number in range(count)], table_name="orders")
    gate = gates.row_count("orders", max_change=0.5, loads=2)

    pipeline.run([{"id": number} for number in range(6)], table_name="orders", gates=[gate])

    with pytest.raises(PipelineStepFailed, match=r"9 rows, and 6 in the mean of 2 loads"):
        # The last two loads have five and six rows.
        pipeline.run([{"id": number} for number in range(9)], table_name="orders", gates=[gate])


def test_a_gate_of_a_run_with_several_sources_holds_for_the_source_that_has_its_table(
    pipeline: Pipeline,
) -> None:
    sources = [
        penstock.source(lambda: penstock.resource(ORDERS, name="orders"), name="first")(),
        penstock.source(lambda: penstock.resource([{"id": 1}], name="refunds"), name="second")(),
    ]

    pipeline.run(sources, gates=[gates.row_count("orders", minimum=1)])

    assert pipeline.dataset().row_counts()["_dlt_checks"] == 1


def test_the_gates_of_an_extracted_package_are_kept_until_another_call_loads_it(pipeline: Pipeline) -> None:
    pipeline._gates = (gates.row_count("orders", minimum=10),)
    pipeline.extract(ORDERS, table_name="orders")
    pipeline._gates = ()

    with pytest.raises(PipelineStepFailed, match="4 rows; expected: at least 10 rows"):
        pipeline.run()


def test_a_bound_of_zero_is_kept_in_the_package(pipeline: Pipeline) -> None:
    gate = gates.row_count("orders", maximum=0, max_change=0)

    assert gate.from_dict(gate.to_dict()) == gate
    with pytest.raises(PipelineStepFailed, match="4 rows; expected: at most 0 rows"):
        pipeline.run(ORDERS, table_name="orders", gates=[gate])


def test_a_package_with_the_gate_of_a_function_is_only_loaded_by_a_call_that_has_it(
    pipeline: Pipeline,
) -> None:
    pipeline._gates = (gates.function("orders", lambda frame: frame.count() > 1, name="plausible"),)
    pipeline.extract(ORDERS, table_name="orders")
    pipeline._gates = ()

    with pytest.raises(PipelineStepFailed, match="the function of gate 'plausible' of orders is not known"):
        pipeline.run()

    assert pipeline.has_pending_data


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: gates.row_count("orders"), "the row count of orders has no bound"),
        (lambda: gates.unique("orders"), "the key of orders has no columns"),
        (lambda: gates.null_share("orders", "id", on_fail="quarantine"), "invalid value 'quarantine'"),
        (lambda: gates.checked_gates(["orders"]), "'orders' is no gate"),
    ],
)
def test_wrong_gates_are_refused(make: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make()
