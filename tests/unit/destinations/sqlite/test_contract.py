"""The contract suite on SQLite, the example of a database destination; no Spark is started."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from sqlite_files import SQLITE

from penstock.interfaces import Destination
from penstock.testing import Bench, Case, destination_suite

if TYPE_CHECKING:
    from pathlib import Path

GATE: Final = frozenset(
    (
        "append-adds-nested-rows",
        "append-adds-columns",
        "replace-exchanges-all-rows",
        "values-come-back",
        "merge-of-one-table",
        "merge-takes-the-newest-of-a-load",
        "merge-deletes-what-is-flagged",
        "upsert-updates-and-adds",
        "insert-only-changes-nothing",
        "history-keeps-old-versions",
        "nothing-is-loaded-twice",
        "truncated-tables-are-empty",
    )
)


@pytest.mark.usefixtures("no_spark")
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case.name, marks=[] if case.name in GATE else pytest.mark.at_length)
        for case in destination_suite()
    ],
)
def test_sqlite(case: Case, tmp_path: Path) -> None:
    database = Destination.from_reference(SQLITE, folder=str(tmp_path / "databases"))

    case.run(Bench(destination=database, folder=tmp_path / "pipelines", packages_travel=False))
