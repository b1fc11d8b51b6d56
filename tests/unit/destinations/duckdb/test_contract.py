"""The contract suite on DuckDB, with rows that the driver writes: no Spark is started."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

import penstock
from penstock.testing import Bench, Case, destination_suite

if TYPE_CHECKING:
    from pathlib import Path

IN_CI: Final = (
    "append-adds-columns",
    "replace-by-nothing-empties",
    "values-come-back",
    "merge-by-merge-key-replaces-a-slice",
    "merge-deletes-what-is-flagged",
    "upsert-takes-the-last-of-a-load",
    "history-sees-nested-rows",
    "nothing-is-loaded-twice",
    "another-machine-goes-on",
    "tables-are-created-and-reported-once",
)
"""The cases that CI runs; `make test-all` runs a part of the others."""


def params() -> list[Any]:
    return [
        pytest.param(case, id=case.name, marks=[] if case.name in IN_CI else [pytest.mark.at_length])
        for case in destination_suite()
    ]


@pytest.mark.usefixtures("no_spark")
@pytest.mark.parametrize("case", params())
def test_duckdb(case: Case, tmp_path: Path) -> None:
    database = penstock.destinations.duckdb(str(tmp_path / "contract.duckdb"))

    case.run(Bench(destination=database, folder=tmp_path / "pipelines", packages_travel=False))
