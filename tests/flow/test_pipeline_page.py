"""Parts of the page on pipelines that need tables: schema files, clients, local state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.flow.factories import make_pipeline

import penstock
from penstock.errors import TableNotFound

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def open_pipeline(location: str, tmp_path: Path, spark: SparkSession, **options: Any) -> penstock.Pipeline:
    return penstock.pipeline(
        "quick",
        pipelines_dir=tmp_path / "pipelines",
        destination=penstock.destinations.delta(bucket_url=location),
        dataset_name="demo",
        spark=spark,
        **options,
    )


def test_a_change_in_an_imported_schema_file_applies(
    location: str, tmp_path: Path, spark: SparkSession
) -> None:
    folders = {"import_schema_path": tmp_path / "in", "export_schema_path": tmp_path / "out"}
    open_pipeline(location, tmp_path, spark, **folders).run([{"id": 1, "price": 5}], table_name="items")
    asked, written = (tmp_path / name / "quick.schema.yaml" for name in ("in", "out"))
    assert "seen-data" not in asked.read_text(encoding="utf-8")
    assert "seen-data" in written.read_text(encoding="utf-8")
    before, items, after = asked.read_text(encoding="utf-8").partition("  items:")
    after = after.replace("data_type: bigint", "data_type: text", 1)
    asked.write_text(before + items + after, encoding="utf-8")

    pipeline = open_pipeline(location, tmp_path, spark, **folders)
    changed = [
        name
        for name, column in pipeline.default_schema.tables["items"].columns.items()
        if column.data_type == "text" and not name.startswith("_dlt")
    ]

    assert len(changed) == 1
    pipeline.run([{"id": 2, "price": 6}], table_name="others")
    assert open_pipeline(location, tmp_path, spark, **folders).default_schema.tables["items"].has_seen_data


def test_after_storage_is_dropped_by_hand_the_next_run_starts_from_scratch(
    location: str, tmp_path: Path, spark: SparkSession
) -> None:
    pipeline = make_pipeline(location, tmp_path, spark)
    pipeline.run([{"id": 1}], table_name="items")

    with pipeline.destination_client() as client:
        client.drop_storage()

    with pytest.raises(TableNotFound):
        pipeline.dataset()["items"].df()
    pipeline.run([{"id": 2}], table_name="items")
    assert pipeline.dataset()["items"].df()["id"].tolist() == [2]


def test_a_schema_is_synchronized_with_existing_tables(
    location: str, tmp_path: Path, spark: SparkSession
) -> None:
    pipeline = make_pipeline(location, tmp_path, spark)
    pipeline.run([{"id": 1}], table_name="items")

    assert pipeline.sync_schema() == {}
    assert pipeline.dataset()["items"].count() == 1


def test_a_table_is_created_by_its_schema_before_its_first_load(
    location: str, tmp_path: Path, spark: SparkSession
) -> None:
    pipeline = make_pipeline(location, tmp_path, spark)
    pipeline.extract([{"id": 1}], table_name="items")
    pipeline.normalize()

    created = pipeline.sync_schema()

    assert {name: list(table["columns"]) for name, table in created.items()} == {
        "items": ["id", "_dlt_load_id", "_dlt_id"]
    }
    assert pipeline.dataset()["items"].count() == 0
    pipeline.load()
    assert pipeline.dataset()["items"].count() == 1
    assert pipeline.sync_schema() == {}


def test_a_machine_that_does_not_restore_continues_from_its_local_state(
    location: str, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    @penstock.resource
    def counted() -> Any:
        state = penstock.current.resource_state()
        state["last"] = state.get("last", 0) + 1
        yield {"n": state["last"]}

    monkeypatch.setenv("PIPELINES__RESTORE_FROM_DESTINATION", "false")
    for _ in range(2):
        make_pipeline(location, tmp_path / "one", spark).run(counted())
    make_pipeline(location, tmp_path / "other", spark).run(counted())

    result = sorted(make_pipeline(location, tmp_path / "one", spark).dataset()["counted"].df()["n"])
    assert result == [1, 1, 2], "another machine knows of nothing"


@pytest.mark.at_length
def test_in_dev_mode_each_pipeline_loads_to_a_separate_dataset(
    location: str, tmp_path: Path, spark: SparkSession
) -> None:
    lake = penstock.destinations.delta(bucket_url=location)
    folder = tmp_path / "pipelines"
    pipeline = penstock.pipeline("quick", folder, destination=lake, dev_mode=True, spark=spark)

    pipeline.run([{"id": 1}], table_name="items")

    assert pipeline.dataset()["items"].count() == 1
    assert pipeline.dataset_name.startswith("quick_2")


@pytest.mark.at_length
def test_packages_are_stored_in_the_staging_bucket(
    location: str, tmp_path: Path, spark: SparkSession
) -> None:
    staging = penstock.destinations.filesystem(bucket_url=f"{location}_stage")

    info = open_pipeline(location, tmp_path, spark, staging=staging).run([{"id": 1}], table_name="items")

    pipeline = open_pipeline(location, tmp_path, spark, staging=staging)
    assert pipeline.list_completed_load_packages() == info.loads_ids
    assert pipeline.dataset()["items"].count() == 1


@pytest.mark.at_length
def test_a_run_that_finds_a_pending_package_leaves_new_data_to_the_next_one(
    location: str, tmp_path: Path, spark: SparkSession
) -> None:
    make_pipeline(location, tmp_path, spark).extract([{"id": 1}], table_name="items")

    for expected in (1, 2):
        make_pipeline(location, tmp_path, spark).run([{"id": 2}], table_name="items")
        assert make_pipeline(location, tmp_path, spark).dataset()["items"].count() == expected
