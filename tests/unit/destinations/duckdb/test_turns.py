"""dlt and penstock take turns on one dataset, each on a machine without a working folder."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

import duckdb
import pytest
from tests.oracle.database_content import content_of
from tests.oracle.database_turns import dlt_process, load_turns, outcome
from tests.oracle.oracle_client import needs_dlt
from tests.oracle.turns import STRATEGIES

import penstock

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.pipeline.pipeline import Pipeline

MIXED, ALONE = "taken_in_turns", "by_dlt_alone"
TURNS = int(os.environ.get("PENSTOCK_TEST_TURNS", "20"))


@needs_dlt
@pytest.mark.usefixtures("no_spark")
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_turns_end_with_the_tables_of_dlt_alone(tmp_path: Path, strategy: str) -> None:
    file = str(tmp_path / "shop.duckdb")

    def pipeline(folder: Path) -> Pipeline:
        destination = penstock.destinations.duckdb(file)
        return penstock.pipeline("shop", destination=destination, dataset_name=MIXED, pipelines_dir=folder)

    with dlt_process() as load:
        load_with_dlt = partial(load, file=file, postgres=None)
        load_turns(load_with_dlt, pipeline, tmp_path, strategy, TURNS, mixed=MIXED, alone=ALONE)

    with duckdb.connect(file) as connection:
        mixed, alone = (outcome(content_of(connection, name), strategy) for name in (MIXED, ALONE))
        loads = connection.execute(f"SELECT count(*) FROM {MIXED}._dlt_loads").fetchall()
    assert mixed == alone
    assert len(alone["rows"]) >= min(TURNS, 3)
    assert loads == [(TURNS,)]
