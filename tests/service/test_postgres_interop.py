"""dlt and penstock take turns on one dataset of Postgres, and load the same histories there."""

from __future__ import annotations

import os
import uuid
from functools import partial
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from tests.oracle import database_turns
from tests.oracle.database_content import content_of
from tests.oracle.database_outcomes import RECORDED, compare, dlt_outcomes, penstock_outcomes
from tests.oracle.oracle_client import needs_dlt, vector
from tests.oracle.turns import STRATEGIES
from tests.service.postgres import URL
from tests.service.test_postgres_loads import dataset, drop_schemas, new_pipeline

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.pipeline.pipeline import Pipeline

__all__ = ["dataset"]
TURNS = int(os.environ.get("PENSTOCK_TEST_TURNS", "20"))
MORE = int(os.environ.get("PENSTOCK_TEST_HISTORIES", "0"))
FIRST = int(os.environ.get("PENSTOCK_TEST_HISTORIES_FROM", "1000"))


def content(dataset: str) -> Any:
    with psycopg.connect(URL) as connection:
        return content_of(connection, dataset)


def test_merge_histories_have_the_tables_of_dlt_after_each_load(dataset: str, tmp_path: Path) -> None:
    actual = penstock_outcomes(new_pipeline(dataset, tmp_path), RECORDED, lambda: content(dataset))

    compared, _ = compare(RECORDED, actual, vector("database_merges.json")["postgres"])

    assert compared["histories"] == len(RECORDED)


@needs_dlt
@pytest.mark.skipif(not MORE, reason="PENSTOCK_TEST_HISTORIES says how many histories to compare")
def test_many_merge_histories_have_the_tables_of_dlt_after_each_load(dataset: str, tmp_path: Path) -> None:
    seeds = range(FIRST, FIRST + MORE)

    actual = penstock_outcomes(new_pipeline(dataset, tmp_path), seeds, lambda: content(dataset))

    compared, named = compare(seeds, actual, dlt_outcomes(seeds, URL))
    print(f"{dict(compared)}; {len(named)} with a named difference: {named}")  # noqa: T201 - the figures


@needs_dlt
@pytest.mark.at_length
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_turns_end_with_the_tables_of_dlt_alone(tmp_path: Path, strategy: str) -> None:
    mixed, alone = (f"{kind}_{uuid.uuid4().hex[:8]}" for kind in ("mixed", "alone"))

    def pipeline(folder: Path) -> Pipeline:
        return new_pipeline(mixed, folder)

    with database_turns.dlt_process() as load:
        load_with_dlt = partial(load, postgres=URL)
        database_turns.load_turns(
            load_with_dlt, pipeline, tmp_path, strategy, TURNS, mixed=mixed, alone=alone
        )

    expected = database_turns.outcome(content(alone), strategy)
    assert database_turns.outcome(content(mixed), strategy) == expected
    assert len(expected["rows"]) >= min(TURNS, 3)
    with psycopg.connect(URL) as connection:
        query = f"SELECT count(*) FROM {mixed}._dlt_loads"
        assert connection.execute(query.encode()).fetchall() == [(TURNS,)]
    drop_schemas(mixed)
    drop_schemas(alone)
