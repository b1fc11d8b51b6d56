"""Expectations of rows without Spark: counted, quarantined, or stopping the load."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import orjson
import pytest

import penstock
from penstock import destinations
from penstock.errors import ChecksFailed, PipelineStepFailed, UsageError
from penstock.normalize.row_conditions import compile_condition
from penstock.pipeline.plan import LoadPlan

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.pipeline.pipeline import Pipeline
    from penstock.sources.resource import Resource

ORDERS: list[dict[str, Any]] = [
    {"id": 1, "amount": 5, "items": [{"sku": "A7"}, {"sku": "B2"}]},
    {"id": 2, "amount": -5, "items": [{"sku": "A7"}]},
    {"id": 3, "amount": None, "items": [{"sku": "C1"}]},
]

pytestmark = pytest.mark.usefixtures("no_spark")


@pytest.fixture
def pipeline(tmp_path: Path) -> Pipeline:
    lake = destinations.delta(bucket_url=str(tmp_path / "lake"))
    return penstock.pipeline(
        "shop", destination=lake, dataset_name="demo", pipelines_dir=str(tmp_path / "pipelines")
    )


def orders(rows: Any = None, **hints: Any) -> Resource:
    resource: Resource = penstock.resource(ORDERS if rows is None else rows, name="orders", **hints)
    return resource


def rows_of(pipeline: Pipeline, table: str, *columns: str) -> list[tuple[Any, ...]]:
    rows = pipeline.dataset()[table].arrow().to_pylist()
    return sorted((tuple(row[column] for column in columns) for row in rows), key=str)


def test_rows_that_fail_an_expectation_are_loaded_and_counted(pipeline: Pipeline) -> None:
    info = pipeline.run(orders().expect("valid amount", "amount >= 0"))

    assert pipeline.dataset().row_counts()["orders"] == 3
    columns = ("check_name", "table_name", "expression", "on_fail", "passed", "failed_rows", "total_rows")
    assert rows_of(pipeline, "_dlt_checks", *columns) == [
        ("valid amount", "orders", "amount >= 0", "warn", False, 2, 3)
    ]
    assert rows_of(pipeline, "_dlt_checks", "_dlt_load_id") == [(info.loads_ids[0],)]
    failure = "check 'valid amount' of orders failed: amount >= 0 is not true in 2 of 3 rows"
    assert f'note: {failure}, such as {{"amount":-5}}' in str(info)
    assert "note: 0 of 1 checks passed: see the table _dlt_checks" in str(info)


def test_a_failed_expectation_that_stops_the_load_publishes_nothing_and_the_next_run_reads_again(
    pipeline: Pipeline,
) -> None:
    reads: list[int] = []

    @penstock.expect("valid amount", "amount >= 0", on_fail="stop")
    @penstock.resource(name="orders")
    def numbered(start: Any = penstock.sources.incremental("id")) -> Any:
        reads.append(start.last_value)
        yield ORDERS[:1] if len(reads) == 1 else ORDERS[:2] if len(reads) == 2 else {"id": 2, "amount": 7}

    pipeline.run(numbered())

    with pytest.raises(PipelineStepFailed, match="valid amount") as failure:
        pipeline.run(numbered())

    assert isinstance(failure.value.exception, ChecksFailed)
    assert failure.value.step == "normalize"
    assert not pipeline.has_pending_data
    assert pipeline.dataset().row_counts() == {"orders": 1, "orders__items": 2, "_dlt_checks": 1}
    (result,) = pipeline.last_trace.last_normalize_info.checks  # type: ignore[union-attr]
    assert (result.passed, result.failed_rows, result.example) == (False, 1, '{"amount":-5}')
    pipeline.run(numbered())
    assert reads == [None, 1, 1]
    assert rows_of(pipeline, "orders", "id", "amount") == [(1, 5), (2, 7)]


def test_a_package_of_an_earlier_call_stays_pending_when_an_expectation_stops_its_load(
    pipeline: Pipeline,
) -> None:
    pipeline.extract(orders().expect("valid amount", "amount >= 0", on_fail="stop"))
    pipeline.extract(orders([{"id": 4, "amount": 1}]))

    with pytest.raises(PipelineStepFailed) as failure:
        pipeline.run()

    assert isinstance(failure.value.exception, ChecksFailed)
    assert failure.value.exception.is_pending
    assert len(pipeline.list_extracted_load_packages()) == 2
    pipeline.drop_pending_packages()
    pipeline.run(orders([{"id": 4, "amount": 1}]))
    assert rows_of(pipeline, "orders", "id") == [(4,)]


def test_all_packages_of_a_run_are_discarded_from_the_failed_one_on(pipeline: Pipeline) -> None:
    sources = [
        penstock.source(lambda: orders([{"id": 1}]), name="first")(),
        penstock.source(lambda: orders().expect("valid", "amount >= 0", on_fail="stop"), name="second")(),
        penstock.source(lambda: orders([{"id": 9}]), name="third")(),
    ]

    with pytest.raises(PipelineStepFailed):
        pipeline.run(sources)

    assert not pipeline.has_pending_data
    assert len(pipeline.list_completed_load_packages()) == 1


@pytest.mark.parametrize("disposition", ["append", "replace"])
def test_rows_that_fail_are_quarantined_with_their_nested_rows(pipeline: Pipeline, disposition: str) -> None:
    checked = orders(write_disposition=disposition)
    checked.expect("valid amount", "amount >= 0", on_fail="quarantine").expect("has id", "id IS NOT NULL")

    info = pipeline.run(checked)

    assert rows_of(pipeline, "orders", "id") == [(1,)]
    assert rows_of(pipeline, "orders__items", "sku") == [("A7",), ("B2",)]
    assert rows_of(pipeline, "_dlt_quarantine", "table_name", "rule", "item", "reason", "raw") == [
        ("orders", "expectation:valid amount", 1, "amount >= 0 is not true", _json(ORDERS[1])),
        ("orders", "expectation:valid amount", 2, "amount >= 0 is not true", _json(ORDERS[2])),
    ]
    assert rows_of(pipeline, "_dlt_checks", "check_name", "passed", "failed_rows", "total_rows") == [
        ("has id", True, 0, 1),
        ("valid amount", False, 2, 3),
    ]
    normalize_info = pipeline.last_trace.last_normalize_info  # type: ignore[union-attr]
    assert [(reject.table, reject.count) for reject in normalize_info.rejects] == [("orders", 2)]
    assert "2 rows of orders left out: they fail check 'valid amount', see the table _dlt_quarantine" in str(
        info
    )


def _json(row: dict[str, Any]) -> str:
    return orjson.dumps(row).decode()


def test_a_nested_table_is_checked_by_its_name_and_not_quarantined(pipeline: Pipeline) -> None:
    pipeline.run(orders().expect("known sku", "sku <> 'C1'", table="orders__items"))

    assert rows_of(pipeline, "_dlt_checks", "table_name", "failed_rows", "total_rows") == [
        ("orders__items", 1, 4)
    ]
    with pytest.raises(PipelineStepFailed, match="cannot quarantine rows of orders__items"):
        pipeline.run(orders().expect("known", "sku <> 'C1'", table="orders__items", on_fail="quarantine"))


def test_expectations_of_a_column_that_the_table_does_not_have_fail_in_every_row(pipeline: Pipeline) -> None:
    pipeline.run(orders().expect("valid price", "price >= 0"))

    assert rows_of(pipeline, "_dlt_checks", "failed_rows", "total_rows") == [(3, 3)]


def test_decorators_above_and_below_the_resource_declare_expectations() -> None:
    @penstock.expect("third", "c > 0", on_fail="stop")
    @penstock.resource
    @penstock.expect("second", "b > 0")
    @penstock.expect("first", "a > 0")
    def rows() -> Any:
        yield {"a": 1}

    assert [check.name for check in rows.expectations] == ["first", "second", "third"]
    assert [check.name for check in rows().expectations] == ["first", "second", "third"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "", "expression": "a > 0"}, "invalid name ''"),
        ({"name": "x", "expression": " "}, "is no condition"),
        ({"name": "x", "expression": "a > 0", "on_fail": "drop"}, "invalid value 'drop' of on_fail"),
    ],
)
def test_wrong_arguments_are_refused_where_they_are_declared(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        orders().expect(**arguments)


@pytest.mark.parametrize(
    "expression", ["a >", "sum(a) > 0", "a IN (SELECT 1)", "row_number() OVER (ORDER BY a) = 1"]
)
def test_wrong_conditions_are_refused_before_anything_is_extracted(
    pipeline: Pipeline, expression: str
) -> None:
    reads: list[str] = []

    with pytest.raises(UsageError, match="condition"):
        pipeline.run(orders(map(reads.append, "ab")).expect("x", expression))

    assert reads == []


def test_two_expectations_of_a_table_have_different_names() -> None:
    with pytest.raises(UsageError, match="two expectations with the name 'x'"):
        orders().expect("x", "a > 0").expect("x", "b > 0")


def test_a_plan_shows_failed_checks_and_is_not_applied_if_one_stops_the_load(pipeline: Pipeline) -> None:
    plan = pipeline.plan(orders().expect("valid amount", "amount >= 0", on_fail="stop"))

    assert "orders  valid amount  stops the load  2 of 3 rows  amount >= 0" in str(plan)
    assert "A failed check stops this load: it is not applied." in str(plan)
    assert plan.is_stopped
    assert LoadPlan.from_dict(json.loads(json.dumps(plan.to_dict()))) == plan
    assert '<span class="bad">stops the load</span>' in plan.to_html()
    with pytest.raises(PipelineStepFailed, match="stops the load"):
        pipeline.apply(plan)
    assert pipeline.first_run
    assert len(pipeline.list_plans()) == 1


@pytest.mark.parametrize(
    ("condition", "is_true"),
    [
        ("s LIKE 'a%'", False),
        ("s NOT LIKE 'a%'", True),
        ("NOT s LIKE 'a%'", True),
        ("s NOT IN ('a')", True),
        ("n NOT BETWEEN 1 AND 2", True),
        ("n IS NOT NULL", True),
    ],
)
def test_a_negated_condition_is_the_opposite(condition: str, *, is_true: bool) -> None:
    evaluate = compile_condition(condition, {"s": "STRING", "n": "BIGINT"})

    assert evaluate({"s": "", "n": 5}) is is_true
