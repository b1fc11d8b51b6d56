"""Edits of the state are saved all or none."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.load.scripted_destination import World
from tests.unit.pipeline.fake_session import fake_session
from tests.unit.pipeline.stored_dataset import at_lake, store_load

import penstock
from penstock.errors import UsageError
from penstock.package import Packages
from penstock.package.extract_manifest import ExtractManifest
from penstock.pipeline.workdir import WorkDir

if TYPE_CHECKING:
    from pathlib import Path

MOMENT = datetime(2024, 5, 6, tzinfo=UTC)


def new_pipeline(tmp_path: Path) -> penstock.Pipeline:
    return penstock.pipeline("shop", pipelines_dir=tmp_path / "here")


def extracted_manifests(packages: Packages) -> list[ExtractManifest]:
    return [
        ExtractManifest.from_dict(package.read_extracted()) for package in packages.with_status("extracted")
    ]


def unbound_manifests(tmp_path: Path) -> list[ExtractManifest]:
    return extracted_manifests(Packages.at(str(tmp_path / "here" / "shop" / "extracted")))


@pytest.mark.parametrize("extract_state", [False, True])
def test_changes_of_the_state_are_loaded_by_the_next_run(tmp_path: Path, extract_state: bool) -> None:
    with new_pipeline(tmp_path).managed_state(extract_state=extract_state) as state:
        state["sources"]["shop"] = {"since": MOMENT}
        penstock.current.source_state()["page"] = 7
        state["_local"]["seen"] = 1

    saved_state = new_pipeline(tmp_path).state
    assert saved_state["sources"] == {"shop": {"since": MOMENT, "page": 7}}
    assert saved_state["_local"] == {"seen": 1}
    assert new_pipeline(tmp_path).has_pending_data is extract_state


@pytest.mark.parametrize("extract_state", [False, True])
def test_changes_are_discarded_when_the_block_raises(tmp_path: Path, extract_state: bool) -> None:
    pipeline = new_pipeline(tmp_path)

    def change() -> None:
        with pipeline.managed_state(extract_state=extract_state) as state:
            state["sources"]["shop"] = {"page": 7}
            state["_local"]["seen"] = 1 // 0

    with pytest.raises(ZeroDivisionError):
        change()

    assert (pipeline.state["sources"], pipeline.state["_local"]) == ({}, {})
    assert not pipeline.has_pending_data


def test_the_next_extraction_builds_on_a_change_and_includes_it(tmp_path: Path) -> None:
    @penstock.resource
    def pages() -> Any:
        yield {"page": penstock.current.source_state()["page"]}

    with new_pipeline(tmp_path).managed_state() as state:
        state["sources"]["shop"] = {"page": 7}

    new_pipeline(tmp_path).extract(pages())

    (package,) = unbound_manifests(tmp_path)
    assert package.state == {"shop": {"page": 7}}


def test_each_changed_source_gets_a_separate_package(tmp_path: Path) -> None:
    store_load(tmp_path, "10.5", sources={"shop": {"page": 1}, "crm": {"page": 1}, "old": {"page": 1}})

    with at_lake(tmp_path).managed_state(extract_state=True) as state:
        state["sources"]["shop"]["page"] = 2
        del state["sources"]["crm"]

    packages = extracted_manifests(Packages.at(str(tmp_path / "lake" / "shop" / "_dlt_pkg" / "shop")))
    assert [package.schema_name for package in packages] == ["shop", "crm"]
    assert at_lake(tmp_path, "elsewhere").state["sources"] == {"shop": {"page": 2}, "old": {"page": 1}}


def test_a_change_is_loaded_after_pending_packages(tmp_path: Path) -> None:
    pipeline = new_pipeline(tmp_path)
    with pipeline.managed_state(extract_state=True) as state:
        state["sources"]["shop"] = {"page": 7}

    with pipeline.managed_state() as state:
        state["sources"]["shop"]["page"] += 1

    assert [package.state for package in unbound_manifests(tmp_path)] == [
        {"shop": {"page": 7}},
        {"shop": {"page": 8}},
    ]
    assert pipeline.state["sources"] == {"shop": {"page": 8}}


def test_a_change_becomes_an_unbound_package(tmp_path: Path) -> None:
    new_pipeline(tmp_path).extract([1], table_name="t")
    with new_pipeline(tmp_path).managed_state(extract_state=True) as state:
        state["sources"]["shop"] = {"page": 7}

    with at_lake(tmp_path).managed_state() as state:
        state["sources"]["shop"]["page"] += 1

    assert at_lake(tmp_path).state["sources"] == {"shop": {"page": 8}}


def test_a_change_of_an_outdated_state_is_logged_and_ignored(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store_load(tmp_path, "10.5")
    with at_lake(tmp_path).managed_state() as state:
        state["sources"]["shop"]["page"] = 7
    assert at_lake(tmp_path).state["sources"]["shop"]["page"] == 7

    store_load(tmp_path, "11.5", version=3)

    assert at_lake(tmp_path).state["sources"] == {"shop": {"last": "11.5"}}
    assert "another load has changed the state since" in caplog.text


def test_packages_of_state_are_loaded_with_local_changes(tmp_path: Path) -> None:
    world = World(tmp_path)
    pipeline = penstock.pipeline("shop", tmp_path, destination=world.destination(), spark=fake_session())
    with pipeline.managed_state() as state:
        state["sources"]["crm"] = {"page": 1}
    with pipeline.managed_state(extract_state=True) as state:
        state["sources"]["shop"] = {"page": 7}

    info = pipeline.run()

    assert len(info.loads_ids) == len(world.completed) == 1
    assert (pipeline.has_pending_data, pipeline.first_run) == (False, False)
    assert pipeline.state["sources"] == {"shop": {"page": 7}, "crm": {"page": 1}}
    assert WorkDir(tmp_path / "shop").local_changes("shop") is None
    copy = WorkDir(tmp_path / "shop").state()
    assert copy is not None
    assert copy["sources"] == {"shop": {"page": 7}, "crm": {"page": 1}}


def test_a_change_applies_to_one_dataset(tmp_path: Path) -> None:
    world = World(tmp_path)

    def of(dataset: str) -> penstock.Pipeline:
        return penstock.pipeline(
            "shop", tmp_path, destination=world.destination(), dataset_name=dataset, spark=fake_session()
        )

    for dataset in ("a", "b"):
        with of(dataset).managed_state() as state:
            state["sources"]["shop"] = {"page": dataset}
    with of("b").managed_state(extract_state=True) as state:
        state["sources"]["shop"]["more"] = 1

    of("b").run()

    assert of("a").state["sources"] == {"shop": {"page": "a"}}
    assert WorkDir(tmp_path / "shop").local_changes("b") is None


def test_a_load_of_its_source_discards_a_change(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def turn() -> Any:
        penstock.current.source_state()["page"] += 1
        yield from ()

    world = World(tmp_path)
    pipeline = penstock.pipeline("shop", tmp_path, destination=world.destination(), spark=fake_session())
    for page in (1, 7):
        with pipeline.managed_state() as state:
            state["sources"]["shop"] = {"page": page}

    pipeline.run(penstock.resource(turn, name="turn"))

    assert pipeline.state["sources"]["shop"]["page"] == 8
    assert WorkDir(tmp_path / "shop").local_changes("shop") is None
    assert "another load" not in caplog.text


def test_a_change_is_kept_until_a_load_has_applied_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    world = World(tmp_path)

    def on(machine: str) -> penstock.Pipeline:
        folder = tmp_path / machine
        return penstock.pipeline("shop", folder, destination=world.destination(), spark=fake_session())

    with on("here").managed_state() as state:
        state["sources"]["shop"] = {"page": 7}
    with on("there").managed_state(extract_state=True) as state:
        state["sources"]["shop"] = {"page": 1}
    # What another machine has left is loaded first, and knows nothing of the change.
    other, own = (tmp_path / machine / "shop" / "load" for machine in ("there", "here"))
    shutil.copytree(other, own)

    on("here").run()

    assert on("here").state["sources"] == {"shop": {"page": 1}}
    changes = WorkDir(tmp_path / "here" / "shop").local_changes("shop")
    assert changes is not None
    assert changes["sources"] == {"shop": {"page": 7}}
    assert "another load has changed the state since" in caplog.text


@pytest.mark.parametrize("extract_state", [False, True])
def test_keys_of_users_are_kept_and_loaded(tmp_path: Path, extract_state: bool) -> None:
    world = World(tmp_path)
    pipeline = penstock.pipeline("shop", tmp_path, destination=world.destination(), spark=fake_session())
    with pipeline.managed_state(extract_state=extract_state) as state:
        document: Any = state
        document["since"], document["until"] = MOMENT, 9
    changed = pipeline.state

    pipeline.extract([], table_name="nothing")
    with pipeline.managed_state(extract_state=True) as state:
        document = state
        del document["until"]
        document["sources"]["shop"] = {"page": 1}
    pipeline.run()

    loaded = pipeline.state
    assert (changed["since"], changed["until"]) == (MOMENT, 9)
    assert (loaded["since"], loaded["sources"]) == (MOMENT, {"shop": {"page": 1}})
    assert "until" not in loaded
    assert WorkDir(tmp_path / "shop").local_changes("shop") is None
    copy = WorkDir(tmp_path / "shop").state()
    assert copy is not None
    assert "since" in copy


def test_keys_of_users_are_discarded_when_the_block_raises(tmp_path: Path) -> None:
    pipeline = new_pipeline(tmp_path)

    def change() -> None:
        with pipeline.managed_state() as state:
            document: Any = state
            document["since"] = 1 // 0

    with pytest.raises(ZeroDivisionError):
        change()

    assert "since" not in pipeline.state


def test_fields_that_loads_overwrite_cannot_be_changed(tmp_path: Path) -> None:
    pipeline = new_pipeline(tmp_path)

    with pytest.raises(UsageError, match="'dataset_name' of the state"), pipeline.managed_state() as state:
        state["dataset_name"] = "other"
