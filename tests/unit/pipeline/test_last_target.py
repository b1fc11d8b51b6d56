"""An attached pipeline has the target of its last run, or the error names the missing argument."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.load.scripted_destination import World
from tests.unit.pipeline.fake_session import fake_session
from tests.unit.pipeline.stored_dataset import at_lake, store_load

import penstock
from penstock.errors import CannotRestorePipelineException, PipelineLocked
from penstock.package import FileStorage
from penstock.package.lease import hold_lease
from penstock.pipeline.last_target import LastTarget
from penstock.pipeline.workdir import WorkDir

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.interfaces import Destination


def saved_target(tmp_path: Path) -> LastTarget:
    return LastTarget.load(WorkDir(tmp_path / "here" / "shop"))


def name_of(destination: Destination | None) -> str | None:
    return destination.destination_name if destination else None


def pipeline_with_staging(tmp_path: Path, bucket: str = "stage") -> penstock.Pipeline:
    return at_lake(tmp_path, staging=penstock.destinations.filesystem(str(tmp_path / bucket)))


def stored_state(**fields: Any) -> dict[str, Any]:
    return {"dataset_name": "raw", "destination_name": None, "destination_type": "x.y", **fields}


def test_a_run_saves_its_target_when_it_begins(tmp_path: Path) -> None:
    pipeline_with_staging(tmp_path).extract([{"n": 1}], table_name="items")

    assert saved_target(tmp_path) == LastTarget(
        destination_name="delta",
        destination_type="delta",
        dataset_name="shop",
        location=str(tmp_path / "lake" / "shop"),
        bucket_url=str(tmp_path / "lake"),
        staging_name="filesystem",
        staging_type="filesystem",
        staging_bucket=str(tmp_path / "stage"),
    )


def test_a_run_that_fails_has_saved_its_target(tmp_path: Path) -> None:
    pipeline = penstock.pipeline("shop", tmp_path, destination=World(tmp_path).destination())
    packages = pipeline.extract([{"n": 1}], table_name="items").location
    (tmp_path / "shop" / "origin.json").unlink()

    with hold_lease(FileStorage(packages), pipeline="shop"), pytest.raises(PipelineLocked):
        penstock.pipeline(
            "shop", tmp_path, destination=World(tmp_path).destination(), spark=fake_session()
        ).run()

    assert LastTarget.load(WorkDir(tmp_path / "shop")).dataset_name == "shop"


def test_a_synced_machine_can_attach_without_arguments(tmp_path: Path) -> None:
    store_load(tmp_path, "10.5")
    at_lake(tmp_path).sync_destination()

    attached = penstock.attach("shop", tmp_path / "here")

    assert (name_of(attached.destination), attached.dataset_name) == ("delta", "shop")


def test_a_sync_that_keeps_the_copy_saves_the_target_too(tmp_path: Path) -> None:
    store_load(tmp_path, "10.5")
    at_lake(tmp_path).sync_destination()
    (tmp_path / "here" / "shop" / "origin.json").unlink()

    at_lake(tmp_path).sync_destination()

    assert saved_target(tmp_path).destination_name == "delta"


def test_a_name_of_the_users_own_is_attached_with_its_type(tmp_path: Path) -> None:
    lake = penstock.destinations.delta(str(tmp_path / "lake"), destination_name="raw_lake")
    penstock.pipeline("shop", tmp_path, destination=lake).extract([{"n": 1}], table_name="items")

    attached = penstock.attach("shop", tmp_path)

    assert attached.destination == lake
    assert attached.destination.destination_type == "penstock.destinations.delta"


def test_a_function_is_not_imported_to_attach_to_its_pipeline(tmp_path: Path) -> None:
    @penstock.destination
    def sink(items: Any, table: Any) -> None: ...

    penstock.pipeline("shop", tmp_path, destination=sink).extract([{"n": 1}], table_name="items")
    WorkDir(tmp_path / "shop").save(state=stored_state(), schema={"name": "shop"})

    with pytest.raises(CannotRestorePipelineException, match="pass destination"):
        penstock.attach("shop", tmp_path)

    attached = penstock.attach("shop", tmp_path, destination=sink)
    assert name_of(attached.destination) == "sink"


def test_a_destination_is_not_guessed_from_a_class_name_of_dlt(tmp_path: Path) -> None:
    WorkDir(tmp_path / "shop").save(
        state=stored_state(destination_type="dlt.destinations.filesystem"), schema={"name": "shop"}
    )

    with pytest.raises(CannotRestorePipelineException, match="pass destination"):
        penstock.attach("shop", tmp_path)

    attached = penstock.attach("shop", tmp_path, destination="iceberg")
    assert (name_of(attached.destination), attached.dataset_name) == ("iceberg", "raw")


def test_an_attached_pipeline_uses_the_packages_and_the_lease_in_the_staging_bucket(tmp_path: Path) -> None:
    pipeline = pipeline_with_staging(tmp_path)
    info = pipeline.extract([{"n": 1}], table_name="items")

    attached = penstock.attach("shop", tmp_path / "here")

    assert attached.list_extracted_load_packages() == info.loads_ids
    with hold_lease(FileStorage(info.location), pipeline="shop"), pytest.raises(PipelineLocked):
        attached.drop_pending_packages()
    other = penstock.attach(
        "shop", tmp_path / "here", staging=penstock.destinations.filesystem(str(tmp_path / "other"))
    )
    assert other.list_extracted_load_packages() == []


def test_an_address_of_staging_with_credentials_is_not_saved(tmp_path: Path) -> None:
    pipeline_with_staging(tmp_path, "stage?token=hush-hush-hush").extract([{"n": 1}], table_name="items")

    assert "hush" not in (tmp_path / "here" / "shop" / "origin.json").read_text(encoding="utf-8")
    with pytest.raises(CannotRestorePipelineException, match="pass staging"):
        penstock.attach("shop", tmp_path / "here")
    assert penstock.attach("shop", tmp_path / "here", staging="filesystem").staging is not None


def test_the_target_of_the_last_run_takes_precedence_over_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_lake(tmp_path, dataset_name="raw").extract([{"n": 1}], table_name="items")
    monkeypatch.setenv("PIPELINES__DATASET_NAME", "lake")
    monkeypatch.setenv("PIPELINES__DATASET_NAME_LAYOUT", "%s_dataset")
    monkeypatch.setenv("PIPELINES__DESTINATION_NAME", "filesystem")

    attached = penstock.attach("shop", tmp_path / "here")
    by_arguments = penstock.attach("shop", tmp_path / "here", destination="iceberg", dataset_name="other")

    assert (name_of(attached.destination), attached.dataset_name) == ("delta", "raw")
    assert (name_of(by_arguments.destination), by_arguments.dataset_name) == ("iceberg", "other")


def test_the_layout_applies_to_a_dataset_name_of_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIPELINES__DATASET_NAME_LAYOUT", "%s_dataset")
    pipeline = penstock.pipeline("shop", tmp_path)
    pipeline.set_local_state_val("seen", 1)

    by_name = penstock.attach("shop", tmp_path).dataset_name
    monkeypatch.setenv("PIPELINES__DATASET_NAME", "lake")
    by_setting = penstock.attach("shop", tmp_path).dataset_name

    assert (pipeline.dataset_name, by_name, by_setting) == ("shop_dataset", "shop_dataset", "lake_dataset")


def test_a_layout_is_not_applied_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIPELINES__DATASET_NAME_LAYOUT", "%s_dataset")
    info = at_lake(tmp_path).extract([{"n": 1}], table_name="items")
    lake = penstock.destinations.delta(str(tmp_path / "lake"))

    attached = penstock.attach("shop", tmp_path / "here", destination=lake)

    assert attached.dataset_name == "shop_dataset"
    assert attached.list_extracted_load_packages() == info.loads_ids


def test_a_target_that_cannot_be_saved_stops_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: Any) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(WorkDir, "save_last_target", full)

    at_lake(tmp_path).extract([{"n": 1}], table_name="items")

    assert "cannot be saved" in caplog.text


def test_a_run_replaces_a_damaged_target_file(tmp_path: Path) -> None:
    origin = tmp_path / "here" / "shop" / "origin.json"
    origin.parent.mkdir(parents=True)
    origin.write_text("{", encoding="utf-8")

    at_lake(tmp_path).extract([{"n": 1}], table_name="items")

    assert saved_target(tmp_path).destination_name == "delta"


def test_an_attached_pipeline_uses_the_bucket_of_the_last_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = at_lake(tmp_path).extract([{"n": 1}], table_name="items")

    attached = penstock.attach("shop", tmp_path / "here")
    monkeypatch.setenv("SHOP__DESTINATION__DELTA__BUCKET_URL", str(tmp_path / "other"))
    by_setting = penstock.attach("shop", tmp_path / "here")

    assert attached.list_extracted_load_packages() == info.loads_ids
    assert by_setting.list_extracted_load_packages() == []


def test_an_address_of_a_bucket_with_credentials_is_not_saved(tmp_path: Path) -> None:
    bucket = penstock.destinations.delta(str(tmp_path / "lake?token=hush-hush-hush"))

    penstock.pipeline("shop", tmp_path / "here", destination=bucket).extract([{"n": 1}], table_name="items")

    assert saved_target(tmp_path).bucket_url is None
    assert "hush" not in (tmp_path / "here" / "shop" / "origin.json").read_text(encoding="utf-8")
