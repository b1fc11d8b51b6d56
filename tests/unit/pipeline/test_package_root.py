"""Packages stay where they were while something is unfinished there; extraction needs no Spark."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.step_failures import step_raises

import penstock
from penstock.errors import PackageRootChanged
from penstock.package import Packages
from penstock.pipeline.package_root import check_package_root
from penstock.pipeline.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path


class Places:
    """One dataset, and a pipeline that may keep its packages in several places."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def pipeline(self, packages: str | None) -> penstock.Pipeline:
        """A pipeline that keeps its packages in a folder; None: next to the tables."""
        staging = None if packages is None else penstock.destinations.filesystem(str(self.folder / packages))
        return penstock.pipeline(
            "shop",
            pipelines_dir=self.folder / "disk",
            destination=penstock.destinations.delta(str(self.folder / "lake")),
            staging=staging,
            dataset_name="demo",
        )

    def extract(self, packages: str | None) -> Any:
        return self.pipeline(packages).extract([{"id": 1}], table_name="items")

    def begin(self, packages: str | None) -> str | None:
        """What a run does before it loads."""
        site = Workspace(self.pipeline(packages)._target(), spark=None)
        with site.client:
            return check_package_root(site, record=True)

    def drop(self, packages: str | None) -> None:
        self.pipeline(packages).drop_pending_packages()

    @property
    def record(self) -> Path:
        return self.folder / "lake" / "demo" / "_dlt_roots" / "shop.json"


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path)


def test_nothing_is_recorded_while_packages_are_next_to_the_tables(places: Places) -> None:
    places.extract(None)

    assert places.begin(None) is None
    assert not places.record.exists()


def test_the_folder_of_pending_packages_cannot_change(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    places.extract("a")
    assert not places.record.exists(), "who only extracts leaves the destination as it is"
    assert "/a/demo/_dlt_pkg/shop now, and were in" in (places.begin("a") or "")
    assert places.begin("a") is None
    assert json.loads(places.record.read_text())["root"] == str(places.folder / "a/demo/_dlt_pkg/shop")

    for other in ("b", None):
        with step_raises(
            PackageRootChanged, match=r"were in .*/a/demo/_dlt_pkg/shop, .* 1 packages are pending there"
        ):
            places.extract(other)
        with pytest.raises(PackageRootChanged):
            places.begin(other)
    assert not (places.folder / "b" / "demo" / "_dlt_pkg" / "shop" / "packages").exists()
    places.extract("a")
    monkeypatch.setenv("RUN__ACCEPT_PACKAGE_ROOT", "true")
    places.begin("b")
    monkeypatch.delenv("RUN__ACCEPT_PACKAGE_ROOT")
    for _ in range(2):
        places.extract("b")

    assert len(Packages.at(str(places.folder / "b/demo/_dlt_pkg/shop")).unsealed_packages()) == 2


def test_a_folder_below_the_dataset_is_recorded_relative_to_it(places: Places) -> None:
    places.extract("lake/other")
    places.begin("lake/other")
    places.drop("lake/other")
    places.begin("lake/demo/inside")
    found = json.loads(places.record.read_text())

    assert (found["root"], found["is_below"]) == ("inside/demo/_dlt_pkg/shop", True)
    places.extract("lake/demo/inside")
    with step_raises(PackageRootChanged, match="1 packages are pending there"):
        places.extract(None)


def test_a_missing_folder_is_refused_as_unfinished(places: Places) -> None:
    places.begin("a")

    with step_raises(PackageRootChanged, match="nothing is found there"):
        places.extract("b")
