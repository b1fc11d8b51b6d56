"""The contract suite on every destination there is: ours, and the stranger's."""

from __future__ import annotations

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

BY_NAME = (
    "append-adds-columns",
    "replace-by-nothing-empties",
    "replace-of-partitions",
    "merge-clears-lists-that-shrink-to-nothing",
    "upsert-takes-the-last-of-a-load",
    "history-sees-nested-rows",
    "another-machine-goes-on",
)
IN_FOLDERS = ("append-adds-nested-rows", "replace-exchanges-all-rows", "merge-without-a-strategy")

EVERY_MODE = (
    "append-adds-nested-rows",
    "replace-by-nothing-empties",
    "merge-clears-lists-that-shrink-to-nothing",
    "upsert-updates-and-adds",
)
PLAIN_EVERY_MODE = ("append-adds-nested-rows", "append-adds-columns", "replace-by-nothing-empties")


def params(gaps: dict[str, Gap], every_mode: Collection[str] = EVERY_MODE) -> list[Any]:
    marks = (pytest.mark.every_mode, pytest.mark.handful)
    return [
        pytest.param(case, id=case.name, marks=marks if case.name in every_mode else ())
        for case in destination_suite(gaps)
    ]


@pytest.mark.parametrize("case", params({}))
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


@pytest.mark.parametrize("case", params({}))
def test_iceberg(case: Case, spark: SparkSession, location: str, tmp_path: Path) -> None:
    lake = penstock.destinations.iceberg(bucket_url=location)

    case.run(Bench(destination=lake, folder=tmp_path, spark=spark))


@pytest.mark.parametrize("case", destination_suite(only=IN_FOLDERS), ids=lambda case: case.name)
def test_filesystem(case: Case, spark: SparkSession, location: str, tmp_path: Path) -> None:
    lake = penstock.destinations.filesystem(bucket_url=location)

    case.run(Bench(destination=lake, folder=tmp_path, spark=spark, hints={"table_format": "delta"}))


@pytest.mark.parametrize("case", params(PLAIN_FILES, PLAIN_EVERY_MODE))
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
