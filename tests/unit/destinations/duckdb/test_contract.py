"""The contract suite on DuckDB, with rows that the driver writes: no Spark is started."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

import penstock
from penstock.errors import SparkNotAvailable
from penstock.testing import Bench, Case, destination_suite, gap

if TYPE_CHECKING:
    from pathlib import Path

_SPARK_EMPTIES = gap(
    "todo", "a table that is replaced by nothing is normalized by Spark", raises=SparkNotAvailable
)
GAPS: Final = {
    "replace-by-nothing-empties": _SPARK_EMPTIES,
    "replace-after-nothing-brings-rows-again": _SPARK_EMPTIES,
}


@pytest.mark.usefixtures("no_spark")
@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in destination_suite(GAPS)])
def test_duckdb(case: Case, tmp_path: Path) -> None:
    database = penstock.destinations.duckdb(str(tmp_path / "contract.duckdb"))

    case.run(Bench(destination=database, folder=tmp_path / "pipelines", packages_travel=False))
