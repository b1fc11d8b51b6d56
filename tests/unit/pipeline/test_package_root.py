"""The folder of packages cannot change while a load there is unfinished; extraction needs no Spark."""

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


class PackageFolders:
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
        """Check and record the folder, as a run does before it loads."""
        workspace = Workspace(self.pipeline(packages)._target(), spark=None)
        with workspace.client:
            return check_package_root(workspace, record=True)

    def drop(self, packages: str | None) -> None:
        self.pipeline(packages).drop_pending_packages()

    @property
    def record(self) -> Path:
        return self.folder / "lake" / "demo" / "_dlt_roots" / "shop.json"


@pytest.fixture
def folders(tmp_path: Path) -> PackageFolders:
    return PackageFolders(tmp_path)


def test_nothing_is_recorded_while_packages_are_next_to_the_tables(folders: PackageFolders) -> None:
    folders.extract(None)

    assert folders.begin(None) is None
    assert not folders.record.exists()


def test_the_folder_of_pending_packages_cannot_change(
    folders: PackageFolders, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders.extract("a")
    assert not folders.record.exists(), "who only extracts leaves the destination as it is"
    assert "/a/demo/_dlt_pkg/shop now, and were in" in (folders.begin("a") or "")
    assert folders.begin("a") is None
    assert json.loads(folders.record.read_text())["root"] == str(folders.folder / "a/demo/_dlt_pkg/shop")

    for other in ("b", None):
        with step_raises(
            PackageRootChanged, match=r"changed from .*/a/demo/_dlt_pkg/shop .* 1 packages are pending there"
        ):
            folders.extract(other)
        with pytest.raises(PackageRootChanged):
            folders.begin(other)
    assert not (folders.folder / "b" / "demo" / "_dlt_pkg" / "shop" / "packages").exists()
    folders.extract("a")
    monkeypatch.setenv("RUN__ACCEPT_PACKAGE_ROOT", "true")
    folders.begin("b")
    monkeypatch.delenv("RUN__ACCEPT_PACKAGE_ROOT")
    for _ in range(2):
        folders.extract("b")

    assert len(Packages.at(str(folders.folder / "b/demo/_dlt_pkg/shop")).unsealed_packages()) == 2


def test_a_folder_below_the_dataset_is_recorded_relative_to_it(folders: PackageFolders) -> None:
    folders.extract("lake/other")
    folders.begin("lake/other")
    folders.drop("lake/other")
    folders.begin("lake/demo/inside")
    document = json.loads(folders.record.read_text())

    assert (document["root"], document["is_below"]) == ("inside/demo/_dlt_pkg/shop", True)
    folders.extract("lake/demo/inside")
    with step_raises(PackageRootChanged, match="1 packages are pending there"):
        folders.extract(None)


def test_a_missing_folder_is_refused_as_unfinished(folders: PackageFolders) -> None:
    folders.begin("a")

    with step_raises(PackageRootChanged, match="nothing is found there"):
        folders.extract("b")
