"""The contract suite on every destination there is: ours, and the stranger's.

Iceberg has a part of it unless `PENSTOCK_TEST_CONTRACT=all`, as `make test-all` says.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from tests.contract.gaps import PLAIN_FILES, STRANGER

import penstock
from penstock.interfaces import Destination
from penstock.testing import Bench, Case, Gap, destination_suite

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from pyspark.sql import SparkSession

ALL = os.environ.get("PENSTOCK_TEST_CONTRACT") == "all"
BY_NAME = (
    "append-adds-columns",
    "replace-by-nothing-empties",
    "replace-of-partitions",
    "merge-clears-lists-that-shrink-to-nothing",
    "upsert-takes-the-last-of-a-load",
    "history-sees-nested-rows",
    "another-machine-goes-on",
)
# What the formats do differently; the rest of the protocol is one code for all lakes.
ON_ICEBERG = (
    *BY_NAME,
    "append-adds-nested-rows",
    "replace-exchanges-all-rows",
    "merge-deletes-what-is-flagged",
    "upsert-updates-and-adds",
    "insert-only-changes-nothing",
    "an-append-lands-once-whatever-dies",
    "a-merge-lands-once-whatever-dies",
)
IN_FOLDERS = ("append-adds-nested-rows", "replace-exchanges-all-rows", "merge-without-a-strategy")

EVERY_MODE = (
    "append-adds-nested-rows",
    "replace-by-nothing-empties",
    "merge-clears-lists-that-shrink-to-nothing",
    "upsert-updates-and-adds",
)
HANDFUL = {
    "delta": EVERY_MODE,
    "iceberg": ("append-adds-nested-rows", "merge-clears-lists-that-shrink-to-nothing"),
    "files": ("append-adds-columns",),
}


def params(lake: str, gaps: dict[str, Gap] | None = None, only: Collection[str] = ()) -> list[Any]:
    """The cases for a lake: those for every mode of Spark are marked, and of these a few for CI."""
    return [
        pytest.param(case, id=case.name, marks=marks(lake, case))
        for case in destination_suite(gaps, only=only)
    ]


def marks(lake: str, case: Case) -> list[pytest.MarkDecorator]:
    found = [pytest.mark.every_mode] if case.name in EVERY_MODE or case.name in HANDFUL[lake] else []
    return [*found, pytest.mark.handful] if case.name in HANDFUL[lake] else found


@pytest.mark.parametrize("case", params("delta"))
def test_delta(case: Case, spark: SparkSession, location: str, tmp_path: Path) -> None:
    lake = penstock.destinations.delta(bucket_url=location)

    case.run(Bench(destination=lake, folder=tmp_path, spark=spark))


@pytest.mark.parametrize("case", destination_suite(only=BY_NAME), ids=lambda case: case.name)
def test_delta_in_a_catalog(
    case: Case, spark: SparkSession, location: str, tmp_path: Path, dataset: str
) -> None:
    lake = penstock.destinations.delta(bucket_url=location, catalog="spark_catalog")
    bench = Bench(destination=lake, folder=tmp_path, spark=spark, dataset_name=dataset)
    # As where a pipeline may write to a schema and not make one.
    spark.sql(f"CREATE SCHEMA {bench.of_case(case.name).dataset_name} LOCATION '{location}/tables'")

    case.run(bench)


@pytest.mark.parametrize("case", params("iceberg", only=() if ALL else ON_ICEBERG))
def test_iceberg(case: Case, spark: SparkSession, location: str, tmp_path: Path) -> None:
    lake = penstock.destinations.iceberg(bucket_url=location)

    case.run(Bench(destination=lake, folder=tmp_path, spark=spark))


@pytest.mark.parametrize("case", destination_suite(only=IN_FOLDERS), ids=lambda case: case.name)
def test_filesystem(case: Case, spark: SparkSession, location: str, tmp_path: Path) -> None:
    lake = penstock.destinations.filesystem(bucket_url=location)

    case.run(Bench(destination=lake, folder=tmp_path, spark=spark, hints={"table_format": "delta"}))


@pytest.mark.parametrize("case", params("files", PLAIN_FILES))
def test_plain_files(case: Case, spark: SparkSession, location: str, tmp_path: Path) -> None:
    lake = penstock.destinations.filesystem(bucket_url=location)

    case.run(Bench(destination=lake, folder=tmp_path, spark=spark))


@pytest.mark.parametrize("case", destination_suite(STRANGER), ids=lambda case: case.name)
def test_a_strangers_destination(
    case: Case, site: Path, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = tmp_path / "files"
    monkeypatch.setenv("DESTINATION__EXAMPLE__FOLDER", str(files))

    def read(dataset: str, table: str) -> list[dict[str, Any]]:
        with closing(sqlite3.connect(files / f"{dataset}.sqlite")) as connection:
            connection.row_factory = sqlite3.Row
            known = connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchall()
            return [dict(row) for row in connection.execute(f'SELECT * FROM "{table}"')] if known else []

    found = Destination.from_reference("example")
    case.run(
        Bench(
            destination=found,
            folder=tmp_path / "pipelines",
            spark=spark,
            read=read,
            packages_travel=False,
        )
    )
