"""The contract suite on SQLite, the example of a database destination, with rows that Spark writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from sqlite_files import SQLITE

from penstock.interfaces import Destination
from penstock.testing import Bench, Case, destination_suite

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

IN_CI: Final = ("replace-by-nothing-empties", "merge-clears-lists-that-shrink-to-nothing", "values-come-back")


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case.name, marks=[] if case.name in IN_CI else pytest.mark.at_length)
        for case in destination_suite()
    ],
)
def test_sqlite(case: Case, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NORMALIZE__DRIVER_ROWS", "0")
    database = Destination.from_reference(SQLITE, folder=str(tmp_path / "databases"))

    case.run(Bench(destination=database, folder=tmp_path / "pipelines", spark=spark, packages_travel=False))
