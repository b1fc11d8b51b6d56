"""Loads with a table that Delta refuses: pending, repaired, skipped or rolled back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.flow.factories import make_pipeline
from tests.step_failures import step_raises

import penstock
from penstock.errors import DestinationHasFailedJobs, DestinationTerminalException, LoadClientJobFailed
from penstock.interfaces import AppliedJob

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from penstock.destinations.delta.adapter import DeltaClient

ROWS = [{"id": 1, "tags": ["x", "y"]}]


def block_table(location: str, other: SparkSession, column: str) -> None:
    """Create a table at the path of `items`."""
    rows = other.sql(f"SELECT {column} AS id")
    overwrite = rows.write.format("delta").mode("overwrite").option("overwriteSchema", "true")
    overwrite.save(f"{location}/demo/items")


@pytest.mark.at_length
def test_a_load_is_pending_until_its_refused_table_is_repaired(
    spark: SparkSession, other: SparkSession, location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOAD__RAISE_ON_FAILED_JOBS", "true")
    block_table(location, other, "named_struct('a', 1)")
    pipeline = make_pipeline(location, tmp_path, spark)

    with step_raises(LoadClientJobFailed, match="items", step="load") as caught:
        pipeline.run(ROWS, table_name="items")

    facts = vars(caught.value)
    assert facts["stage"] == "load"
    failed = pipeline.list_failed_jobs_in_package(facts["load_id"])
    assert [job.job_file_info.job_id() for job in failed] == [facts["job_id"]] == list(facts["failed_jobs"])
    assert pipeline.dataset()["_dlt_loads"].count() == 0
    block_table(location, other, "0L")
    again = pipeline.run()
    assert [table.skipped for table in again.packages[0].tables if table.table == "items__tags"] == [True]
    assert pipeline.dataset().row_counts() == {"items": 2, "items__tags": 2}


def test_a_skipped_chain_is_rolled_back(
    spark: SparkSession, other: SparkSession, location: str, tmp_path: Path
) -> None:
    pipeline = make_pipeline(location, tmp_path, spark)
    pipeline.run([{"id": 0, "tags": ["old"]}], table_name="items")
    block_table(location, other, "named_struct('a', 1)")
    resources = [
        penstock.resource(ROWS, name="items"),
        penstock.resource([{"id": 7, "parts": [1]}], name="others"),
    ]

    info = pipeline.run(resources)

    assert {table.table: table.rows for table in info.packages[0].tables} == {"others": 1, "others__parts": 1}
    values = [row["value"] for row in pipeline.dataset()["items__tags"].spark().collect()]
    assert values == ["old"]
    with pytest.raises(DestinationHasFailedJobs) as caught:
        info.raise_on_failed_jobs()
    assert len(vars(caught.value)["failed_jobs"]) == 2
    assert pipeline.dataset()["_dlt_loads"].count() == 2


@pytest.mark.at_length
def test_a_table_is_read_at_a_version_and_rolled_back_only_if_no_other_writer_changed_it(
    spark: SparkSession, other: SparkSession, location: str, tmp_path: Path
) -> None:
    pipeline = make_pipeline(location, tmp_path, spark)
    for number in (1, 2):
        pipeline.run([{"id": number}], table_name="items")
    target = pipeline._target()
    client: Any = target.destination.client(target.client().schema, target.config, spark=other)
    lake: DeltaClient = client
    second = AppliedJob(table="items", version_before=0, version_after=1)

    def ids(version: int | None = None) -> list[int]:
        return sorted(row["id"] for row in lake.read("items", version, spark=other).collect())

    assert lake.table_version("items", spark=other) == 1
    assert lake.table_version("nothing", spark=other) is None
    assert (ids(0), ids(1), ids()) == ([1], [1, 2], [1, 2])
    lake.undo(second, "17.5")
    lake.undo(second, "17.5")
    assert (ids(), lake.table_version("items", spark=other)) == ([1], 2)
    with pytest.raises(DestinationTerminalException, match="was changed after version 0"):
        lake.undo(AppliedJob(table="items", version_after=0), "17.4")
    lake.initialize_storage(truncate_tables=["items", "nothing"])
    assert ids() == []
