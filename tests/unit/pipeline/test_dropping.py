"""Dropping packages that wait and are not sealed: no Spark is needed for that."""

from __future__ import annotations

import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from tests.flow.crashes.steps import Steps, watched

import penstock
from penstock.errors import PipelineLocked
from penstock.package import Packages
from penstock.package.lease import held

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WITHOUT_SPARK = """
import sys
sys.modules["pyspark"] = None
import penstock
pipeline = penstock.pipeline("shop", pipelines_dir=sys.argv[1])
pipeline.extract([{"n": 1}], table_name="items")
pipeline.drop_pending_packages()
"""


@penstock.resource
def counted() -> Iterator[Any]:
    state = penstock.current.resource_state()
    state["last"] = state.get("last", 0) + 1
    yield {"n": state["last"]}


def at_lake(tmp_path: Path) -> penstock.Pipeline:
    lake = penstock.destinations.delta(str(tmp_path / "lake"))
    return penstock.pipeline("shop", pipelines_dir=tmp_path / "disk", destination=lake, dataset_name="shop")


def packages_at(tmp_path: Path) -> Packages:
    return Packages.at(str(tmp_path / "lake" / "shop" / "_dlt_pkg" / "shop"))


def test_what_waits_for_a_destination_is_dropped_without_spark(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_SPARK, str(tmp_path)], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert Packages.at(str(tmp_path / "shop" / "extracted")).unsealed() == []


def test_what_waits_here_and_at_the_destination_is_dropped_and_the_source_is_asked_again(
    tmp_path: Path,
) -> None:
    pipeline = at_lake(tmp_path)
    for _ in range(2):
        pipeline.extract(counted())
    penstock.pipeline("shop", pipelines_dir=tmp_path / "disk").extract(counted())
    assert len(packages_at(tmp_path).unsealed()) == 2

    pipeline.drop_pending_packages()

    assert packages_at(tmp_path).unsealed() == []
    assert Packages.at(str(tmp_path / "disk" / "shop" / "extracted")).unsealed() == []
    pipeline.extract(counted())
    (package,) = packages_at(tmp_path).with_status("extracted")
    assert package.extracted()["state"]["shop"]["resources"]["counted"] == {"last": 1}


def test_nothing_waits_and_nothing_happens(tmp_path: Path) -> None:
    at_lake(tmp_path).drop_pending_packages(with_partial_loads=False)
    penstock.pipeline("shop", pipelines_dir=tmp_path / "disk").drop_pending_packages()

    assert not (tmp_path / "disk" / "shop" / "extracted").exists()


def test_what_a_run_is_working_on_is_not_dropped(tmp_path: Path) -> None:
    pipeline = at_lake(tmp_path)
    pipeline.extract(counted())

    with held(packages_at(tmp_path).store, pipeline="shop"), pytest.raises(PipelineLocked):
        pipeline.drop_pending_packages()

    assert len(packages_at(tmp_path).unsealed()) == 1


def test_the_newest_goes_first_so_that_those_that_are_left_fit_together(tmp_path: Path) -> None:
    pipeline = at_lake(tmp_path)
    for _ in range(3):
        pipeline.extract(counted())
    ids = [package.load_id for package in packages_at(tmp_path).unsealed()]
    left: list[list[str]] = []

    def look(_: object) -> None:
        copied = shutil.copytree(tmp_path / "lake", tmp_path / "copies" / str(len(left)) / "lake")
        left.append([package.load_id for package in packages_at(copied.parent).with_status("extracted")])

    with watched(Steps(tmp_path / "lake", look)):
        pipeline.drop_pending_packages()

    assert ids in left
    assert [] in left
    assert all(found == ids[: len(found)] for found in left)
