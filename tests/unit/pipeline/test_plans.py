"""Plans of loads without Spark: what they say, what they leave unchanged, and when they are refused."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

import penstock
from penstock import destinations
from penstock.errors import PlanExpired, PlanOutdated, UsageError
from penstock.pipeline import planning
from penstock.pipeline.plan import LoadPlan, PlannedTable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from penstock.pipeline.pipeline import Pipeline

ORDERS = [
    {"id": 1, "items": [{"sku": "A7"}, {"sku": "B2"}]},
    {"id": 2, "items": [{"sku": "A7"}]},
]

pytestmark = pytest.mark.usefixtures("no_spark")


@pytest.fixture
def pipeline(tmp_path: Path) -> Pipeline:
    lake = destinations.delta(bucket_url=str(tmp_path / "lake"))
    return penstock.pipeline(
        "shop", destination=lake, dataset_name="demo", pipelines_dir=str(tmp_path / "pipelines")
    )


def figures(plan: LoadPlan) -> dict[str, tuple[int | None, ...]]:
    """Return what a plan says about its tables: inserted, updated, deleted and ended rows, and files."""
    return {table.table: _figures(table) for package in plan.packages for table in package.tables}


def _figures(table: PlannedTable) -> tuple[int | None, ...]:
    return table.inserted, table.updated, table.deleted, table.ended, table.files


def test_a_plan_changes_nothing_and_its_application_does_what_it_says(pipeline: Pipeline) -> None:
    plan = pipeline.plan(ORDERS, table_name="orders")

    assert figures(plan) == {"orders": (2, 0, 0, 0, 0), "orders__items": (3, 0, 0, 0, 0)}
    assert not pipeline.has_pending_data
    assert pipeline.first_run
    info = pipeline.apply(plan)
    assert info.loads_ids == list(plan.load_ids)
    assert pipeline.dataset().row_counts() == {"orders": 2, "orders__items": 3}
    assert pipeline.list_plans() == []


def test_replaced_rows_and_their_files_are_counted(pipeline: Pipeline) -> None:
    pipeline.run(ORDERS, table_name="orders")

    plan = pipeline.plan([{"id": 3}], table_name="orders", write_disposition="replace")

    assert figures(plan) == {"orders": (1, 0, 2, 0, 1), "orders__items": (0, 0, 3, 0, 1)}
    pipeline.apply(plan)
    assert pipeline.dataset().row_counts() == {"orders": 1, "orders__items": 0}


def test_schema_changes_have_their_rule_and_an_example(pipeline: Pipeline) -> None:
    pipeline.run(ORDERS, table_name="orders")

    plan = pipeline.plan([{"id": 3}, {"id": 4, "price": 1.5}], table_name="orders")

    (change,) = plan.packages[0].schema_changes
    assert (change.kind, change.column, change.data_type, change.rule) == (
        *("new_column", "price", "double"),
        "inference",
    )
    assert change.example == {"file": 1, "row": 2, "path": "$.price"}
    assert "$.price in row 2" in str(plan)


def test_a_run_loads_its_own_rows_and_leaves_the_plan(pipeline: Pipeline) -> None:
    plan = pipeline.plan(ORDERS, table_name="orders")

    info = pipeline.run(ORDERS[:1], table_name="orders")

    assert info.loads_ids != list(plan.load_ids)
    assert pipeline.dataset().row_counts()["orders"] == 1
    assert [waiting.load_ids for waiting in pipeline.list_plans()] == [plan.load_ids]


def test_a_plan_is_refused_with_what_has_changed_since(pipeline: Pipeline) -> None:
    pipeline.run(ORDERS, table_name="orders")
    plan = pipeline.plan(ORDERS, table_name="orders")
    pipeline.run(ORDERS, table_name="orders")

    with pytest.raises(
        PlanOutdated, match=r"the last load was .*orders was at version 0, and is at version 1"
    ):
        pipeline.apply(plan)

    assert pipeline.dataset().row_counts()["orders"] == 4
    pipeline.drop_plan(plan)
    assert pipeline.list_plans() == []


def test_a_plan_of_a_new_table_is_refused_once_the_table_exists(pipeline: Pipeline) -> None:
    plan = pipeline.plan(ORDERS, table_name="orders")
    pipeline.run(ORDERS, table_name="orders")

    with pytest.raises(PlanOutdated, match="orders did not exist, and is at version 0"):
        pipeline.apply(plan)


def test_the_next_run_reads_the_rows_of_a_plan_again_and_those_of_an_applied_one_not(
    pipeline: Pipeline,
) -> None:
    @penstock.resource(table_name="events")
    def events(at: Any = penstock.sources.incremental("id")) -> Iterator[dict[str, int]]:
        yield from ({"id": number} for number in range(at.last_value or 0, 5))

    pipeline.drop_plan(pipeline.plan(events()))
    plan = pipeline.plan(events())
    pipeline.apply(plan)
    again = pipeline.plan(events())

    assert figures(plan)["events"][0] == 5
    assert again.packages == ()
    assert "nothing to load" in str(again)


def test_an_expired_plan_is_refused_and_dropped_by_the_next_one(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLAN__EXPIRES_AFTER", "0")
    plan = pipeline.plan(ORDERS, table_name="orders")

    with pytest.raises(PlanExpired, match=r"expired at"):
        pipeline.apply(plan)

    later = pipeline.plan(ORDERS, table_name="orders")
    assert [waiting.load_ids for waiting in pipeline.list_plans()] == [later.load_ids]
    assert not plan.is_expired(datetime.now(UTC) - timedelta(minutes=1))


def test_nothing_is_planned_while_packages_are_pending(pipeline: Pipeline) -> None:
    pipeline.extract(ORDERS, table_name="orders")

    with pytest.raises(UsageError, match="are pending"):
        pipeline.plan(ORDERS, table_name="orders")


def test_an_interrupted_application_is_completed_once(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = pipeline.plan(ORDERS, table_name="orders")
    with monkeypatch.context() as patch:
        patch.setattr("penstock.load.run._commit_to_ledger", lambda *_: 1 / 0)
        with pytest.raises(penstock.errors.PenstockError):
            pipeline.apply(plan)

    pipeline.apply(plan)
    again = pipeline.apply(plan)

    assert pipeline.dataset().row_counts() == {"orders": 2, "orders__items": 3}
    assert "was loaded before" in str(again)


def test_a_plan_that_fails_leaves_no_package(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "count_changes", lambda *_: 1 / 0)

    with pytest.raises(penstock.errors.PenstockError):
        pipeline.plan(ORDERS, table_name="orders")

    pipeline.run()
    assert pipeline.list_plans() == []
    assert pipeline.first_run


def test_a_plan_is_read_back_from_its_package_as_it_was_made(pipeline: Pipeline) -> None:
    pipeline.run(ORDERS, table_name="orders")
    plan = pipeline.plan([{"id": "x"}], table_name="orders", write_disposition="replace")

    (stored,) = pipeline.list_plans()

    assert stored == plan
    assert LoadPlan.from_dict(json.loads(json.dumps(plan.to_dict()))) == plan
    assert pipeline.get_load_package_info(plan.load_ids[0]).state == "planned"


def test_a_plan_is_a_page_and_a_cell_of_a_notebook_with_escaped_names(pipeline: Pipeline) -> None:
    pipeline.run(ORDERS, table_name="orders")

    plan = pipeline.plan([{"id": 3, "<b>bold</b>": 1}], table_name="orders")

    for html in (plan.to_html(), plan._repr_html_()):
        assert "$[&#x27;&lt;b&gt;bold&lt;/b&gt;&#x27;] in row 1" in html
        assert "<b>" not in html
        assert '<th scope="row">orders</th><td class="number">1</td>' in html
    assert plan.to_html().startswith("<!doctype html>")
