"""The copies of a machine follow the destination; packages at the destination are kept."""

from __future__ import annotations

import errno
import shutil
import sys
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.load.scripted_destination import World
from tests.unit.pipeline.fake_session import fake_session
from tests.unit.pipeline.stored_dataset import at_lake, store_load

import penstock
from penstock.errors import PipelineStepFailed
from penstock.pipeline.workdir import WorkDir

if TYPE_CHECKING:
    from pathlib import Path


def test_a_fresh_machine_gets_copies_of_state_and_schemas(tmp_path: Path) -> None:
    schema = store_load(tmp_path, "10.5")
    pipeline = at_lake(tmp_path)

    pipeline.sync_destination()

    workdir = WorkDir(tmp_path / "here" / "shop")
    state, copied = workdir.state(), workdir.schema("shop")
    assert state is not None
    assert copied is not None
    assert state["sources"] == {"shop": {"last": "10.5"}}
    assert copied["version_hash"] == schema.version_hash
    assert not pipeline.first_run


def test_copies_are_used_without_a_destination(tmp_path: Path) -> None:
    store_load(tmp_path, "10.5")
    at_lake(tmp_path).sync_destination()

    apart = penstock.pipeline("shop", pipelines_dir=tmp_path / "here")

    assert apart.state["sources"] == {"shop": {"last": "10.5"}}
    assert "orders" in apart.default_schema.tables
    assert penstock.pipeline("shop", tmp_path / "here", dataset_name="other").state["sources"] == {}


def test_only_a_state_with_a_higher_version_replaces_the_copy(tmp_path: Path) -> None:
    pipeline, workdir = at_lake(tmp_path), WorkDir(tmp_path / "here" / "shop")
    store_load(tmp_path, "10.5", version=4)
    pipeline.sync_destination()

    versions: list[tuple[Any, Any]] = []
    for load_id, version in (("11.5", 5), ("12.5", 5), ("13.5", 1), ("14.5", 6)):
        store_load(tmp_path, load_id, version=version)
        pipeline.sync_destination()
        state = workdir.state()
        assert state is not None
        versions.append((state["_state_version"], state["sources"]["shop"]["last"]))

    # `store_load` counts one up.
    assert versions == [(6, "11.5"), (6, "11.5"), (6, "11.5"), (7, "14.5")]


def test_schemas_are_replaced_with_the_state(tmp_path: Path) -> None:
    pipeline, workdir = at_lake(tmp_path), WorkDir(tmp_path / "here" / "shop")
    schema = store_load(tmp_path, "10.5", version=4)
    pipeline.sync_destination()
    state = workdir.state()
    assert state is not None

    workdir.save(state={**state, "_state_version": 9, "_version_hash": "other"}, schema={"name": "shop"})
    pipeline.sync_destination()
    unchanged = workdir.schema("shop")
    workdir.save_state({**state, "_state_version": 1, "_version_hash": "other"})
    pipeline.sync_destination()

    replaced = workdir.schema("shop")
    assert unchanged == {"name": "shop"}
    assert replaced is not None
    assert replaced["version_hash"] == schema.version_hash


@pytest.mark.parametrize(("version", "is_newer"), [(0, False), (1, True)])
@pytest.mark.parametrize("keeps", [False, True])
def test_packages_of_this_machine_are_deleted_if_the_destination_has_a_newer_state(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    version: int,
    is_newer: bool,
    keeps: bool,
) -> None:
    monkeypatch.setenv("RUN__KEEP_OUTDATED_PACKAGES", str(keeps))
    unbound = penstock.pipeline("shop", pipelines_dir=tmp_path / "here")
    unbound.extract([{"n": 1}], table_name="items")  # the state of this machine has version 1
    store_load(tmp_path, "10.5", version=version)

    at_lake(tmp_path).sync_destination()

    is_deleted = is_newer and not keeps
    assert unbound.has_pending_data is not is_deleted
    assert ("which were extracted here without a destination, are deleted" in caplog.text) is is_deleted
    state = WorkDir(tmp_path / "here" / "shop").state()
    assert state is not None
    assert state["sources"] == {"shop": {"last": "10.5"}}


def test_a_run_reports_the_outdated_packages_that_it_deleted(tmp_path: Path) -> None:
    penstock.pipeline("shop", pipelines_dir=tmp_path).extract([{"n": 1}], table_name="items")
    store_load(tmp_path, "10.5", version=3)
    world = World(tmp_path)
    world.ledger = at_lake(tmp_path)._target().client().ledger()  # type: ignore[attr-defined]

    info = penstock.pipeline("shop", tmp_path, destination=world.destination(), spark=fake_session()).run()

    assert [note for note in info.notes if "run.keep_outdated_packages = true keeps such packages" in note]
    assert info.loads_ids == []


def test_a_schema_that_is_missing_here_is_copied_again(tmp_path: Path) -> None:
    store_load(tmp_path, "10.5")
    at_lake(tmp_path).sync_destination()
    shutil.rmtree(tmp_path / "here" / "shop" / "schemas")

    at_lake(tmp_path).sync_destination()

    assert WorkDir(tmp_path / "here" / "shop").schema("shop") is not None


def test_the_local_state_is_deleted_with_its_dataset(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store_load(tmp_path, "10.5")
    at_lake(tmp_path).sync_destination()
    penstock.pipeline("shop", pipelines_dir=tmp_path / "here").extract([{"n": 1}], table_name="items")
    shutil.rmtree(tmp_path / "lake")
    workdir = WorkDir(tmp_path / "here" / "shop")
    workdir.save_local_values({"seen": 1})
    workdir.save_local_changes("shop", {"of": None})

    at_lake(tmp_path).sync_destination()

    assert (workdir.state(), workdir.schema("shop")) == (None, None)
    assert (workdir.local_values(), workdir.local_changes("shop")) == ({}, None)
    assert workdir.last_target()["destination_name"] == "delta"
    assert "dataset shop no longer exists" in caplog.text
    assert len(at_lake(tmp_path).list_extracted_load_packages()) == 1


def test_a_sync_without_loads_does_nothing(tmp_path: Path) -> None:
    at_lake(tmp_path).sync_destination()

    assert list(tmp_path.iterdir()) == []


def test_the_call_can_name_the_dataset(tmp_path: Path) -> None:
    store_load(tmp_path, "10.5")
    lake = penstock.destinations.delta(str(tmp_path / "lake"))
    pipeline = penstock.pipeline("shop", tmp_path / "here", dataset_name="other")

    pipeline.sync_destination(lake, dataset_name="shop")

    assert (pipeline.dataset_name, pipeline.state["sources"]) == ("shop", {"shop": {"last": "10.5"}})


def test_a_pipeline_that_does_not_restore_uses_its_local_copies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_load(tmp_path, "10.5")
    at_lake(tmp_path).sync_destination()
    store_load(tmp_path, "11.5", version=3)
    monkeypatch.setenv("PIPELINES__RESTORE_FROM_DESTINATION", "false")

    here, elsewhere = at_lake(tmp_path), at_lake(tmp_path, "elsewhere")

    assert here.state["sources"] == {"shop": {"last": "10.5"}}
    assert (elsewhere.state["sources"], elsewhere.default_schema.is_new) == ({}, True)


def test_a_run_updates_the_copies_first_unless_restore_is_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_load(tmp_path, "10.5")
    workdir = WorkDir(tmp_path / "here" / "shop")
    world, lake = World(tmp_path), at_lake(tmp_path)._target().client().ledger()  # type: ignore[attr-defined]
    world.ledger = lake

    def run() -> None:
        penstock.pipeline(
            "shop", tmp_path / "here", destination=world.destination(), spark=fake_session()
        ).run()

    monkeypatch.setenv("PIPELINES__RESTORE_FROM_DESTINATION", "false")
    run()
    before = workdir.state()
    monkeypatch.delenv("PIPELINES__RESTORE_FROM_DESTINATION")
    run()

    assert before is None
    state = workdir.state()
    assert state is not None
    assert state["sources"] == {"shop": {"last": "10.5"}}


def full(path: Path, document: Any) -> None:
    raise OSError(errno.ENOSPC, f"no space for {path.name} with {len(document)} keys")


@pytest.mark.parametrize("restores", ["true", "false"])
def test_copies_that_cannot_be_written_stop_a_run_only_if_the_machine_is_authoritative(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, restores: str
) -> None:
    def turn() -> Any:
        state = penstock.current.source_state()
        state["page"] = state.get("page", 0) + 1
        yield from ()

    monkeypatch.setenv("PIPELINES__RESTORE_FROM_DESTINATION", restores)
    monkeypatch.setattr(sys.modules[WorkDir.__module__], "write_json", full)
    world = World(tmp_path)
    pipeline = penstock.pipeline("shop", tmp_path, destination=world.destination(), spark=fake_session())
    turned = penstock.resource(turn, name="turn")
    if restores == "false":
        with pytest.raises(PipelineStepFailed, match="no space"):
            pipeline.run(turned)
        return

    for _ in range(2):
        pipeline.run(turned)

    assert pipeline.state["sources"]["shop"]["page"] == 2
    assert not pipeline.has_pending_data
    assert "cannot be copied to this machine: [Errno 28] no space for" in caplog.text
    assert f"state and schemas are not copied to {tmp_path}" in caplog.text
