"""Packages and tables at once in a real object store: the S3 gateway that `make up` starts.

`PENSTOCK_TEST_S3_CASES=all` runs the whole contract suite there, in each table format.
"""

from __future__ import annotations

import os
import uuid
from typing import TYPE_CHECKING, Any

import pytest
from tests.contract.gaps import PLAIN_FILES
from tests.service.bucket import jdbc_catalog, keys

import penstock
from penstock.errors import StorageAccessDenied, StorageNotReachable
from penstock.interfaces import Destination
from penstock.package import Packages
from penstock.testing import Bench, Case, destination_suite
from penstock.testing.cases import Crash, CrashingDestination

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

IS_ALL = os.environ.get("PENSTOCK_TEST_S3_CASES") == "all"
CASES: dict[str, tuple[str, ...]] = {"iceberg": ("merge-clears-lists-that-shrink-to-nothing",)}
"""The cases that CI runs: other tests here load Delta and plain files, and resume on another machine."""
if IS_ALL:
    CASES = dict.fromkeys(("delta", "iceberg", "filesystem"), ())


def make(destination: Destination, tmp_path: Path, spark: SparkSession | None) -> penstock.Pipeline:
    return penstock.pipeline(
        "shop",
        pipelines_dir=tmp_path / "pipelines",
        destination=destination,
        dataset_name="demo",
        spark=spark,
    )


def orders(*rows: dict[str, Any]) -> Any:
    """Return the same rows with three dispositions, for tables with a nested table each."""
    return [
        penstock.resource(list(rows), name="added", write_disposition="append"),
        penstock.resource(list(rows), name="merged", write_disposition="merge", primary_key="id"),
        penstock.resource(list(rows), name="replaced", write_disposition="replace"),
    ]


def test_every_disposition_works_with_tables_and_packages_in_one_bucket(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    pipeline = make(penstock.destinations.delta(location, credentials=keys()), tmp_path, spark)

    pipeline.run(orders({"id": 1, "tags": ["a", "b"]}, {"id": 2, "tags": ["c"]}))
    pipeline.run(orders({"id": 2, "tags": ["d", "e"]}, {"id": 3, "tags": []}))

    assert pipeline.dataset().row_counts() == {
        "added": 4,
        "added__tags": 5,
        "merged": 3,
        "merged__tags": 4,
        "replaced": 2,
        "replaced__tags": 2,
    }
    assert sorted(row[0] for row in pipeline.dataset()["merged"].fetchall()) == [1, 2, 3]
    packages = Packages.at(f"{location}/demo/_dlt_pkg/shop", credentials=keys())
    assert packages.last_sealed() is not None
    output = [key for key in spark.conf.getAll if key.startswith("fs.s3a.bucket.")]
    assert output == [], "the session is the user's, and has not heard of any key"


@pytest.mark.at_length
def test_a_frame_of_the_users_session_is_written_to_a_bucket_and_read_back(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    lake = penstock.destinations.filesystem(location, credentials=keys())
    frame = spark.range(7).toDF("id")

    make(lake, tmp_path, spark).run(
        penstock.resource(frame, name="numbers", table_format="delta", write_disposition="append")
    )

    assert make(lake, tmp_path, spark).dataset()["numbers"].spark().count() == 7


def test_a_killed_load_is_finished_by_another_machine(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    lake = penstock.destinations.delta(location, credentials=keys())
    mortal = Destination("delta", CrashingDestination(lake.reference, at=1, after=True), lake.arguments)
    rows = penstock.resource([{"id": 1, "tags": ["x"]}], name="items", write_disposition="append")
    with pytest.raises(Crash):
        make(mortal, tmp_path, spark).run(rows)

    again = make(lake, tmp_path / "another machine", spark).run()

    assert len(again.loads_ids) == 1
    assert any(table.skipped for table in again.packages[0].tables), "what was committed is not again"
    assert make(lake, tmp_path, spark).dataset().row_counts() == {"items": 1, "items__tags": 1}


def cases() -> list[Any]:
    """Return the cases of the contract, or a part of them, for each table format."""
    return [
        pytest.param(kind, case, id=f"{kind}-{case.name}")
        for kind, names in CASES.items()
        for case in destination_suite(PLAIN_FILES if kind == "filesystem" else {}, only=names)
    ]


@pytest.mark.at_length
@pytest.mark.every_mode
@pytest.mark.parametrize(("kind", "case"), cases())
def test_the_contract_holds_in_a_bucket(
    kind: str, case: Case, spark: SparkSession, location: str, tmp_path: Path
) -> None:
    options = jdbc_catalog(location) if kind == "iceberg" else {}
    lake = getattr(penstock.destinations, kind)(location, credentials=keys(), **options)

    case.run(Bench(destination=lake, folder=tmp_path, spark=spark))


def test_wrong_keys_fail_at_once_and_are_not_shown(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    wrong = keys(aws_secret_access_key="canary-for-a-wrong-key")

    with pytest.raises(StorageAccessDenied) as caught:
        make(penstock.destinations.delta(location, credentials=wrong), tmp_path, spark).run(
            [{"id": 1}], table_name="items"
        )

    assert "was denied" in caught.value.message
    assert "credentials" in caught.value.hint
    assert "canary" not in f"{caught.value} {caught.value!r} {vars(caught.value)}"


def test_the_error_names_a_missing_bucket(spark: SparkSession, tmp_path: Path) -> None:
    nowhere = penstock.destinations.delta(f"s3://no-such-{uuid.uuid4().hex[:8]}/lake", credentials=keys())

    with pytest.raises(StorageAccessDenied, match="NoSuchBucket"):
        make(nowhere, tmp_path, spark).run([{"id": 1}], table_name="items")


@pytest.mark.at_length
def test_an_unreachable_store_raises_a_retryable_error(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    away = penstock.destinations.delta(location, credentials=keys(endpoint_url="http://127.0.0.1:9"))

    with pytest.raises(StorageNotReachable):
        make(away, tmp_path, spark).run([{"id": 1}], table_name="items")
