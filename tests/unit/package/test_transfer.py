"""An extracted package is moved to another storage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from penstock.errors import LeaseLost, PackageDamaged
from penstock.package import Package, Packages
from penstock.package.lease import hold_lease
from penstock.package.packages import transfer_package

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from penstock.package.lease import Lease


@pytest.fixture(params=["disk", "memory"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Package:
    root = str(tmp_path / "lake") if request.param == "disk" else f"memory://{tmp_path.name}"
    return Packages.at(root).package("17.5")


@pytest.fixture
def package(tmp_path: Path) -> Package:
    package = Packages.at(str(tmp_path / "here")).package("17.5")
    package.create()
    for folder in range(3):
        for part in range(2):
            with package.store.open_new(f"data/extracted/{folder:05d}/part-{part}.parquet") as stream:
                stream.write(b"%d" % part * 1000)
    package.mark_extracted({"schema_name": "shop", "resources": [{"rows": 1}]})
    return package


@pytest.fixture
def lease(target: Package) -> Iterator[Lease]:
    with hold_lease(target.store.with_root(target.store.root.rsplit("/", 2)[0]), pipeline="shop") as lease:
        yield lease


def test_data_state_and_marker_are_transferred_and_the_original_is_deleted(
    package: Package, target: Package, lease: Lease
) -> None:
    options, state = package.read_extracted(), package.state()

    carried = transfer_package(package, target, lease=lease, is_transferred=False)

    assert (carried.status, carried.state()) == ("extracted", state)
    assert carried.read_extracted() == {**options, "epoch": 1}
    assert carried.store.read("data/extracted/00002/part-1.parquet") == b"1" * 1000
    assert not package.exists()


def test_a_partly_extracted_package_is_not_transferred_and_kept(
    package: Package, target: Package, lease: Lease
) -> None:
    package.store.delete("extracted.json")

    with pytest.raises(PackageDamaged, match="was not extracted completely"):
        transfer_package(package, target, lease=lease, is_transferred=False)

    assert package.store.exists("data/extracted/00000/part-0.parquet")
    assert not target.exists()


def test_an_interrupted_transfer_is_repeated(package: Package, target: Package, lease: Lease) -> None:
    target.store.put("data/extracted/00000/part-0.parquet", b"half")

    transfer_package(package, target, lease=lease, is_transferred=False)

    assert target.store.read("data/extracted/00000/part-0.parquet") == b"0" * 1000


def test_a_finished_copy_is_kept_and_the_original_is_deleted(
    package: Package, target: Package, lease: Lease
) -> None:
    target.mark_extracted({"schema_name": "shop", "resources": []})

    transfer_package(package, target, lease=lease, is_transferred=True)

    assert target.read_extracted()["resources"] == []
    assert not package.exists()


def test_a_truncated_copy_is_an_error_and_the_original_is_kept(
    package: Package, target: Package, lease: Lease, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A disk that loses the end of a file without saying so.
    monkeypatch.setattr("shutil.copyfileobj", lambda rows, copy, size: copy.write(rows.read()[:-1]))

    with pytest.raises(PackageDamaged, match="999 of 1000 bytes were copied"):
        transfer_package(package, target, lease=lease, is_transferred=False)

    assert package.status == "extracted"
    assert target.status == "new"


def test_the_original_is_kept_when_another_run_takes_over_while_the_copy_is_marked(
    package: Package, target: Package, lease: Lease, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = Package.mark_extracted

    def stall(copy: Package, document: Mapping[str, Any], *, epoch: int | None = None) -> None:
        target.store.with_root(target.store.root.rsplit("/", 2)[0]).put("lease/0000000002.json", b"{}")
        mark(copy, document, epoch=epoch)

    monkeypatch.setattr(Package, "mark_extracted", stall)

    with pytest.raises(LeaseLost):
        transfer_package(package, target, lease=lease, is_transferred=False)

    assert package.status == "extracted"
