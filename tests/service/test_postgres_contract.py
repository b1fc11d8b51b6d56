"""The contract suite on Postgres, without Spark: the driver writes and copies the rows of each case."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

import pytest
from tests.service.postgres import URL
from tests.service.test_postgres_loads import drop_schemas

import penstock
from penstock.testing import Bench, Case, destination_suite

if TYPE_CHECKING:
    from pathlib import Path

IN_CI = (
    "append-adds-columns",
    "replace-by-nothing-empties",
    "values-come-back",
    "merge-clears-lists-that-shrink-to-nothing",
    "merge-by-merge-key-replaces-a-slice",
    "merge-deletes-what-is-flagged",
    "upsert-takes-the-last-of-a-load",
    "history-sees-nested-rows",
    "nothing-is-loaded-twice",
    "tables-are-created-and-reported-once",
)
"""The cases that CI runs; `make test-all` runs a part of the others."""


def params() -> list[Any]:
    return [
        pytest.param(case, id=case.name, marks=[] if case.name in IN_CI else [pytest.mark.at_length])
        for case in destination_suite()
    ]


@pytest.mark.parametrize("case", params())
def test_postgres(case: Case, tmp_path: Path) -> None:
    dataset = f"c{uuid.uuid4().hex[:6]}"
    destination = penstock.destinations.postgres(URL)

    try:
        case.run(Bench(destination=destination, folder=tmp_path, packages_travel=False, dataset_name=dataset))
    finally:
        drop_schemas(dataset)
