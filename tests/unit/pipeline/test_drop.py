"""Dropping of pending packages that are not sealed needs no Spark."""

from __future__ import annotations

import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from tests.flow.crashes.steps import Steps, recording_steps
from tests.unit.load.scripted_destination import World
from tests.unit.load.test_run import schema_of
from tests.unit.pipeline.fake_session import fake_session

import penstock
from penstock.errors import CannotRestorePipelineException, LoadIsDecided, PipelineLocked, TablesMovedOn
from penstock.package import Manifest, Packages, TableEntry
from penstock.package.lease import hold_lease
from penstock.pipeline.state import new_state
from penstock.pipeline.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from penstock.package.slots import LoadDecision

WITHOUT_SPARK = """
import sys
sys.modules["pyspark"] = None
import penstock
pipeline = penstock.pipeline("shop", pipelines_dir=sys.argv[1])
pipeline.extract([{"n": 1}], table_name="items")
pipeline.drop_pending_packages()
"""


@penstock.resource
def counter() -> Iterator[Any]:
    state = penstock.current.resource_state()
    state["last"] = state.get("last", 0) + 1
    yield {"n": state["last"]}


def at_lake(tmp_path: Path) -> penstock.Pipeline:
    lake = penstock.destinations.delta(str(tmp_path / "lake"))
    return penstock.pipeline("shop", pipelines_dir=tmp_path / "disk", destination=lake, dataset_name="shop")


def packages_at(tmp_path: Path) -> Packages:
    return Packages.at(str(tmp_path / "lake" / "shop" / "_dlt_pkg" / "shop"))


def test_unbound_packages_are_dropped_without_spark(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_SPARK, str(tmp_path)], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert Packages.at(str(tmp_path / "shop" / "extracted")).unsealed_packages() == []


def test_all_pending_packages_are_dropped_and_the_source_is_extracted_again(
    tmp_path: Path,
) -> None:
    pipeline = at_lake(tmp_path)
    for _ in range(2):
        pipeline.extract(counter())
    penstock.pipeline("shop", pipelines_dir=tmp_path / "disk").extract(counter())
    assert len(packages_at(tmp_path).unsealed_packages()) == 2

    pipeline.drop_pending_packages()

    assert packages_at(tmp_path).unsealed_packages() == []
    assert Packages.at(str(tmp_path / "disk" / "shop" / "extracted")).unsealed_packages() == []
    pipeline.extract(counter())
    (package,) = packages_at(tmp_path).with_status("extracted")
    assert package.read_extracted()["state"]["shop"]["resources"]["counter"] == {"last": 1}


def test_dropping_without_pending_packages_does_nothing(tmp_path: Path) -> None:
    at_lake(tmp_path).drop_pending_packages(with_partial_loads=False)
    penstock.pipeline("shop", pipelines_dir=tmp_path / "disk").drop_pending_packages()

    assert not (tmp_path / "disk" / "shop" / "extracted").exists()


def test_packages_of_a_running_pipeline_are_not_dropped(tmp_path: Path) -> None:
    pipeline = at_lake(tmp_path)
    pipeline.extract(counter())

    with hold_lease(packages_at(tmp_path).store, pipeline="shop"), pytest.raises(PipelineLocked):
        pipeline.drop_pending_packages()

    assert len(packages_at(tmp_path).unsealed_packages()) == 1


def stuck(tmp_path: Path, world: World) -> tuple[penstock.Pipeline, Packages, Manifest]:
    """Return a pipeline with a started sealed load, and pending and unbound packages after it."""
    penstock.pipeline("shop", pipelines_dir=tmp_path / "disk").extract(counter())
    pipeline = penstock.pipeline(
        "shop", pipelines_dir=tmp_path / "disk", destination=world.destination(), spark=fake_session()
    )
    packages = Workspace(pipeline._target(), spark=fake_session()).packages
    entry = TableEntry(table="items", job="items.x.0.reference", write_disposition="append")
    manifest = Manifest(
        load_id="17.5",
        sequence=1,
        pipeline_name="shop",
        dataset_name="shop",
        schema_name="shop",
        tables=(entry,),
        schema_before=None,
        schema=dict(schema_of(("items",), "append").to_dict()),
        state=new_state(pipeline_name="shop", dataset_name="shop", schema_name="shop", destination_type="d"),
    )
    packages.normalized_packages.create_package("17.5", schema=schema_of(("items",), "append"))
    packages.package("17.5").jobs.add(entry.job, b"{}")
    assert packages.seal(manifest)
    packages.normalized_packages.start_job("17.5", entry.job)
    world.landed.append("items")
    pipeline.extract(counter())
    return pipeline, packages, manifest


@pytest.mark.parametrize("why", [TablesMovedOn, LoadIsDecided])
def test_nothing_is_dropped_if_the_sealed_load_cannot_be_aborted(
    tmp_path: Path, why: type[Exception]
) -> None:
    world = World(tmp_path, script={"undo": []})
    pipeline, packages, manifest = stuck(tmp_path, world)
    pending_ids = pipeline.list_extracted_load_packages()
    if why is TablesMovedOn:
        world.moved_on.add("items")
    else:
        packages.commit(manifest)

    with pytest.raises(why):
        pipeline.drop_pending_packages()

    assert len(pending_ids) == 2
    assert pipeline.list_extracted_load_packages() == pending_ids
    assert packages.pending_load() == manifest


def test_packages_after_a_sealed_load_are_deleted_before_it_is_aborted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path, script={"undo": []})
    pipeline, packages, _ = stuck(tmp_path, world)
    remaining: list[list[str]] = []

    def abort(self: Packages, manifest: Manifest, facts: Any = None) -> LoadDecision:
        remaining.append([*pipeline.list_extracted_load_packages()])
        return aborted(self, manifest, facts)

    aborted = Packages.abort
    monkeypatch.setattr(Packages, "abort", abort)

    pipeline.drop_pending_packages()

    assert remaining == [[]]
    assert (world.undone, packages.pending_load()) == (["items"], None)


def test_drop_rolls_back_a_load_from_the_working_folder_and_keeps_its_number(tmp_path: Path) -> None:
    world = World(tmp_path, script={"undo": []})
    pipeline, _, manifest = stuck(tmp_path, world)

    pipeline.drop()

    left = {path.name for path in (tmp_path / "disk" / "shop").rglob("*") if path.is_dir()}
    assert (world.undone, world.fenced) == (["items"], ["items"])
    assert left == {"load", "shop", "slots", "outcomes"}
    assert pipeline.list_extracted_load_packages() == []
    assert (pipeline.first_run, pipeline.state["sources"]) == (True, {})
    workspace = Workspace(pipeline._target(), spark=fake_session())
    assert workspace.next_sequence(workspace.packages.slots.last()) == manifest.sequence + 1
    with pytest.raises(CannotRestorePipelineException):
        penstock.attach("shop", tmp_path / "disk")


def test_drop_refuses_to_delete_packages_that_a_run_holds(tmp_path: Path) -> None:
    world = World(tmp_path, script={"undo": []})
    pipeline, packages, manifest = stuck(tmp_path, world)

    with hold_lease(packages.store, pipeline="shop"), pytest.raises(PipelineLocked):
        pipeline.drop()

    assert packages.pending_load() == manifest


def test_drop_logs_the_rows_of_a_load_whose_destination_is_not_known(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    world = World(tmp_path, script={"undo": []})
    stuck(tmp_path, world)

    penstock.pipeline("shop", pipelines_dir=tmp_path / "disk").drop()

    assert "load 17.5 is dropped: its tables may have some of its rows" in caplog.text
    assert world.undone == []
    assert not (tmp_path / "disk" / "shop" / "extracted").exists()


def test_packages_are_dropped_newest_first(tmp_path: Path) -> None:
    pipeline = at_lake(tmp_path)
    for _ in range(3):
        pipeline.extract(counter())
    ids = [package.load_id for package in packages_at(tmp_path).unsealed_packages()]
    remaining: list[list[str]] = []

    def look(_: object) -> None:
        copied = shutil.copytree(tmp_path / "lake", tmp_path / "copies" / str(len(remaining)) / "lake")
        remaining.append([package.load_id for package in packages_at(copied.parent).with_status("extracted")])

    with recording_steps(Steps(tmp_path / "lake", look)):
        pipeline.drop_pending_packages()

    assert ids in remaining
    assert [] in remaining
    assert all(load_ids == ids[: len(load_ids)] for load_ids in remaining)
