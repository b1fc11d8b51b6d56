"""The contract suite on every destination: the built-in ones, and a third-party one.

CI runs a part of it for Iceberg and plain files: the protocol is the same code for all lakes.
"""

from __future__ import annotations

import sqlite3
import uuid
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from tests.contract.gaps import PLAIN_FILES, THIRD_PARTY
from tests.service.postgres import URL
from tests.service.test_postgres_loads import drop_schemas

import penstock
from penstock.interfaces import Destination
from penstock.testing import Bench, Case, Gap, destination_suite

if TYPE_CHECKING:
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
    "what-begins-anew-is-there-alone",
)
BY_NAME_IN_CI = ("append-adds-columns",)
BY_SPARK_IN_CI = ("append-adds-columns", "values-come-back", "nothing-is-loaded-twice")
IN_FOLDERS = ("append-adds-nested-rows", "replace-exchanges-all-rows", "merge-without-a-strategy")

EVERY_MODE = (
    "append-adds-nested-rows",
    "replace-by-nothing-empties",
    "merge-clears-lists-that-shrink-to-nothing",
    "upsert-updates-and-adds",
)
HANDFUL = {
    "delta": ("merge-clears-lists-that-shrink-to-nothing",),
    "iceberg": ("merge-clears-lists-that-shrink-to-nothing",),
    "postgres": ("merge-clears-lists-that-shrink-to-nothing",),
}
IN_CI = {
    "delta": (
        "append-adds-columns",
        "replace-by-nothing-empties",
        "replace-of-partitions",
        "values-come-back",
        "merge-clears-lists-that-shrink-to-nothing",
        "merge-by-merge-key-replaces-a-slice",
        "merge-deletes-what-is-flagged",
        "upsert-updates-and-adds",
        "history-sees-nested-rows",
        "nothing-is-loaded-twice",
        "tables-are-created-and-reported-once",
        "truncated-tables-are-empty",
    ),
    "iceberg": (
        "append-adds-columns",
        "replace-of-partitions",
        "merge-clears-lists-that-shrink-to-nothing",
        "upsert-takes-the-last-of-a-load",
        "history-sees-nested-rows",
        "tables-are-created-and-reported-once",
        "truncated-tables-are-empty",
    ),
    "files": (
        "tables-are-created-and-reported-once",
        "truncated-tables-are-empty",
        "append-adds-columns",
        "replace-by-nothing-empties",
        "merge-without-a-strategy",
        "another-machine-goes-on",
    ),
    "postgres": (
        "append-adds-columns",
        "merge-clears-lists-that-shrink-to-nothing",
        "values-come-back",
    ),
    "third_party": (
        "tables-are-created-and-reported-once",
        "truncated-tables-are-empty",
        "append-adds-nested-rows",
        "append-adds-columns",
        "values-come-back",
        "merge-without-a-strategy",
        "nothing-is-loaded-twice",
        "another-machine-goes-on",
    ),
}
"""The cases that CI runs; `make test-all` runs every case for every lake."""


def params(lake: str, gaps: dict[str, Gap] | None = None) -> list[Any]:
    """Return the cases of a lake, with the marks of the runs that include them."""
    return [
        pytest.param(case, id=case.name, marks=marks(lake, case.name)) for case in destination_suite(gaps)
    ]


def by_name() -> list[Any]:
    """Return the cases of tables in a catalog."""
    at_length = [pytest.mark.at_length]
    return [
        pytest.param(case, id=case.name, marks=[] if case.name in BY_NAME_IN_CI else at_length)
        for case in destination_suite(only=BY_NAME)
    ]


def by_spark() -> list[Any]:
    """Return the cases of Delta tables to which Spark makes all writes and commits."""
    return [
        pytest.param(case, id=case.name, marks=[] if case.name in BY_SPARK_IN_CI else [pytest.mark.at_length])
        for case in destination_suite()
    ]


def in_folders() -> list[Any]:
    """Return the cases of Delta tables of the destination `filesystem`; CI runs the merge."""
    return [
        pytest.param(case, id=case.name, marks=[] if "merge" in case.needs else [pytest.mark.at_length])
        for case in destination_suite(only=IN_FOLDERS)
    ]


def marks(lake: str, name: str) -> list[pytest.MarkDecorator]:
    conditions = {
        "every_mode": lake != "third_party" and name in (*EVERY_MODE, *HANDFUL.get(lake, ())),
        "handful": name in HANDFUL.get(lake, ()),
        "at_length": name not in IN_CI[lake],
    }
    return [getattr(pytest.mark, mark) for mark, holds in conditions.items() if holds]


@pytest.mark.parametrize("case", params("delta"))
def test_delta(case: Case, spark: SparkSession, location: str, tmp_path: Path) -> None:
    lake = penstock.destinations.delta(bucket_url=location)

    case.run(Bench(destination=lake, folder=tmp_path, spark=spark))


@pytest.mark.parametrize("case", by_spark())
def test_delta_written_by_spark(
    case: Case, spark: SparkSession, location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NORMALIZE__DRIVER_ROWS", "0")
    lake = penstock.destinations.delta(bucket_url=location, commit_by_reference=False)

    case.run(Bench(destination=lake, folder=tmp_path, spark=spark))


@pytest.mark.parametrize("case", by_name())
def test_delta_in_a_catalog(
    case: Case, spark: SparkSession, location: str, tmp_path: Path, dataset: str
) -> None:
    lake = penstock.destinations.delta(bucket_url=location, catalog="spark_catalog")
    bench = Bench(destination=lake, folder=tmp_path, spark=spark, dataset_name=dataset)
    # A pipeline may be allowed to write to a schema, but not to create one.
    spark.sql(f"CREATE SCHEMA {bench.of_case(case.name).dataset_name} LOCATION '{location}/tables'")

    case.run(bench)


@pytest.mark.parametrize("case", params("iceberg"))
def test_iceberg(case: Case, spark: SparkSession, location: str, tmp_path: Path) -> None:
    lake = penstock.destinations.iceberg(bucket_url=location)

    case.run(Bench(destination=lake, folder=tmp_path, spark=spark))


@pytest.mark.parametrize("case", in_folders())
def test_filesystem(case: Case, spark: SparkSession, location: str, tmp_path: Path) -> None:
    lake = penstock.destinations.filesystem(bucket_url=location)

    case.run(Bench(destination=lake, folder=tmp_path, spark=spark, hints={"table_format": "delta"}))


@pytest.mark.parametrize("case", params("files", PLAIN_FILES))
def test_plain_files(case: Case, spark: SparkSession, location: str, tmp_path: Path) -> None:
    lake = penstock.destinations.filesystem(bucket_url=location)

    case.run(Bench(destination=lake, folder=tmp_path, spark=spark))


@pytest.mark.skipif(not URL, reason="needs Postgres: make up")
@pytest.mark.parametrize("case", params("postgres"))
def test_postgres(
    case: Case, spark: SparkSession, location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NORMALIZE__DRIVER_ROWS", "0")
    monkeypatch.setenv("DESTINATION__POSTGRES__PACKAGE_STORAGE", location)
    dataset = f"c{uuid.uuid4().hex[:6]}"
    database = penstock.destinations.postgres(URL)

    try:
        case.run(Bench(destination=database, folder=tmp_path, spark=spark, dataset_name=dataset))
    finally:
        drop_schemas(dataset)


@pytest.mark.parametrize("case", params("third_party", THIRD_PARTY))
def test_a_third_party_destination(
    case: Case, site: Path, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = tmp_path / "files"
    monkeypatch.setenv("DESTINATION__EXAMPLE__FOLDER", str(files))

    def read(dataset: str, table: str) -> list[dict[str, Any]]:
        with closing(sqlite3.connect(files / f"{dataset}.sqlite")) as connection:
            connection.row_factory = sqlite3.Row
            exists = connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchall()
            return [dict(row) for row in connection.execute(f'SELECT * FROM "{table}"')] if exists else []

    destination = Destination.from_reference("example")
    case.run(
        Bench(
            destination=destination,
            folder=tmp_path / "pipelines",
            spark=spark,
            read=read,
            packages_travel=False,
        )
    )
