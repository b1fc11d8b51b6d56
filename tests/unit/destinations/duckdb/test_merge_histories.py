"""Histories of loads have the same tables on DuckDB as with dlt there; no Spark is started."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from tests.oracle.database_content import content_of
from tests.oracle.database_outcomes import RECORDED, compare, dlt_outcomes, penstock_outcomes
from tests.oracle.merge_outcomes import FLAGGED, ORPHANS
from tests.oracle.oracle_client import needs_dlt, vector
from tests.unit.destinations.duckdb.databases import DATASET, pipeline_into

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

MORE = int(os.environ.get("PENSTOCK_TEST_HISTORIES", "0"))
FIRST = int(os.environ.get("PENSTOCK_TEST_HISTORIES_FROM", "1000"))
pytestmark = pytest.mark.usefixtures("no_spark")


def outcomes(folder: Path, seeds: Iterable[int]) -> dict[str, Any]:
    def content() -> Any:
        with duckdb.connect(str(folder / "shop.duckdb")) as connection:
            return content_of(connection, DATASET)

    return penstock_outcomes(pipeline_into(folder), seeds, content)


def test_merge_histories_have_the_tables_of_dlt_after_each_load(tmp_path: Path) -> None:
    actual = outcomes(tmp_path, RECORDED)

    _, named = compare(RECORDED, actual, vector("database_merges.json")["duckdb"])
    assert named == {"1016": [FLAGGED], "1019": [ORPHANS]}


@needs_dlt
@pytest.mark.skipif(not MORE, reason="PENSTOCK_TEST_HISTORIES says how many histories to compare")
def test_many_merge_histories_have_the_tables_of_dlt_after_each_load(tmp_path: Path) -> None:
    seeds = range(FIRST, FIRST + MORE)

    compared, named = compare(seeds, outcomes(tmp_path, seeds), dlt_outcomes(seeds))
    print(f"{dict(compared)}; {len(named)} with a named difference: {named}")  # noqa: T201 - the figures
