"""Plans of merges into Postgres: the figures are those of the load, and nothing is left in the database."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.oracle.merge_histories import history
from tests.plan_figures import differences, resource_of
from tests.service.test_postgres_loads import dataset, pipeline, schemas  # noqa: F401 - fixtures

from penstock.errors import PlanOutdated

if TYPE_CHECKING:
    from tests.plan_figures import Rows

    import penstock

SEEDS = (0, 1, 3)
"""A delete-insert, an upsert and row versions, with nested tables and delete flags."""


def test_an_application_changes_what_the_plan_says(dataset: str, pipeline: penstock.Pipeline) -> None:  # noqa: F811 - fixtures
    histories = [history(seed) for seed in SEEDS]

    wrong: list[str] = []
    before: Rows = {}
    for number in range(max(len(item["loads"]) for item in histories)):
        current = [item for item in histories if number < len(item["loads"])]
        plan = pipeline.plan([resource_of(item, number) for item in current])
        left_over = [name for name in schemas(dataset) if name != dataset]
        info = pipeline.apply(plan)
        tables = pipeline.dataset()
        after = {table: tables[table].arrow().to_pylist() for table in tables.tables}
        wrong += [
            f"load {number}: {text}" for text in differences(plan, info, before, after, current, number)
        ]
        wrong += [f"load {number}: {name} is left" for name in left_over]
        before = after

    assert not wrong, "\n".join(wrong)


def test_rows_of_another_writer_outdate_a_plan(dataset: str, pipeline: penstock.Pipeline) -> None:  # noqa: F811 - fixtures
    pipeline.run([{"id": 1}], table_name="orders")
    plan = pipeline.plan([{"id": 2}], table_name="orders")
    with pipeline.sql_client() as client:
        client.execute_sql("DELETE FROM orders")

    with pytest.raises(PlanOutdated, match="orders had 1 rows, and has 0 rows"):
        pipeline.apply(plan)
