"""`Pipeline.extract` without a destination: unbound packages, without Spark or Java."""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.pipeline.stored_dataset import at_lake

import penstock
from penstock.errors import PipelineLocked, PipelineStepFailed, ResourceFailed, UsageError
from penstock.package import Packages
from penstock.package.extract_manifest import ExtractManifest
from penstock.package.lease import hold_lease
from penstock.pipeline.arguments import resolve_extract_settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WITHOUT_SPARK = """
import sys
sys.modules["pyspark"] = None
import penstock
pipeline = penstock.pipeline("shop", pipelines_dir=sys.argv[1])
print(pipeline.extract(({"n": n} for n in range(1000)), table_name="items").rows)
"""


@penstock.resource
def counter(rows: int = 2) -> Iterator[Any]:
    state = penstock.current.resource_state()
    for _ in range(rows):
        state["last"] = state.get("last", 0) + 1
        yield {"n": state["last"]}


def unbound_manifests(folder: Path) -> list[ExtractManifest]:
    packages = Packages.at(str(folder / "shop" / "extracted")).with_status("extracted")
    return [ExtractManifest.from_dict(package.read_extracted()) for package in packages]


def test_pyspark_need_not_be_installed(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_SPARK, str(tmp_path)], capture_output=True, text=True, check=False
    )

    assert (done.stdout, done.returncode) == ("1000\n", 0), done.stderr
    assert [manifest.rows for manifest in unbound_manifests(tmp_path)] == [1000]


def test_an_extraction_builds_on_the_unbound_packages(tmp_path: Path) -> None:
    pipeline = penstock.pipeline("shop", pipelines_dir=tmp_path)

    first, second = pipeline.extract(counter()), pipeline.extract(counter())

    assert [first.rows, second.rows] == [2, 2]
    assert [manifest.state for manifest in unbound_manifests(tmp_path)] == [
        {"shop": {"resources": {"counter": {"last": 2}}}},
        {"shop": {"resources": {"counter": {"last": 4}}}},
    ]
    assert str(first).splitlines()[0] == f"Pipeline 'shop' extracted 2 rows to {tmp_path}/shop/extracted"


def test_an_extraction_with_a_destination_builds_on_the_unbound_packages(tmp_path: Path) -> None:
    penstock.pipeline("shop", pipelines_dir=tmp_path / "here").extract(counter())
    pipeline = at_lake(tmp_path)
    state = pipeline.state["sources"]

    pipeline.extract(counter())

    assert state["shop"]["resources"]["counter"] == {"last": 2}
    assert pipeline.state["sources"]["shop"]["resources"]["counter"] == {"last": 4}
    assert unbound_manifests(tmp_path / "here") == []
    carried = Packages.at(str(tmp_path / "lake/shop/_dlt_pkg/shop")).with_status("extracted")
    assert [ExtractManifest.from_dict(package.read_extracted()).rows for package in carried] == [2, 2]


def test_unbound_packages_are_stored_where_the_setting_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXTRACT__PACKAGE_STORAGE", str(tmp_path / "elsewhere"))

    info = penstock.pipeline("shop", pipelines_dir=tmp_path / "p").extract([1], table_name="t")

    assert info.location == f"{tmp_path}/elsewhere/shop"
    assert len(Packages.at(info.location).with_status("extracted")) == 1
    assert not (tmp_path / "p" / "shop" / "extracted").exists()


def test_incomplete_packages_are_deleted_and_an_error_leaves_none(tmp_path: Path) -> None:
    def bad() -> Iterator[Any]:
        yield 1
        raise KeyError("bad")

    pipeline = penstock.pipeline("shop", pipelines_dir=tmp_path)
    for _ in range(2):
        with pytest.raises(PipelineStepFailed) as failed:
            pipeline.extract(bad, table_name="t")
        assert isinstance(failed.value.exception, ResourceFailed)

    packages = Packages.at(str(tmp_path / "shop" / "extracted"))
    assert (len(packages.with_status("new")), unbound_manifests(tmp_path)) == (1, [])


def test_a_second_extraction_at_the_same_time_is_refused(tmp_path: Path) -> None:
    packages = Packages.at(str(tmp_path / "shop" / "extracted"))

    with hold_lease(packages.store, pipeline="shop"), pytest.raises(PipelineLocked):
        penstock.pipeline("shop", pipelines_dir=tmp_path).extract([1], table_name="t")


def test_an_extraction_without_rows_leaves_no_package(tmp_path: Path) -> None:
    info = penstock.pipeline("shop", pipelines_dir=tmp_path).extract([], table_name="t")

    assert (info.packages, unbound_manifests(tmp_path)) == ((), [])
    assert str(info) == "Pipeline 'shop' had nothing to extract"


def test_failures_are_reported_in_the_info(tmp_path: Path) -> None:
    def bad() -> list[Any]:
        raise KeyError("bad")

    info = penstock.pipeline("shop", pipelines_dir=tmp_path).extract(
        [counter(), penstock.resource(bad, name="bad")], on_error="continue"
    )

    assert list(info.failures) == ["bad"]
    assert "- bad was excluded: bad raised KeyError('bad') at item 1" in str(info).splitlines()


def test_an_argument_takes_precedence_over_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXTRACT__WORKERS", "3")
    monkeypatch.setenv("SHOP__EXTRACT__ON_ERROR", "continue")

    assert resolve_extract_settings("shop").workload.workers == 3
    assert resolve_extract_settings("shop").on_error == "continue"
    assert resolve_extract_settings("other").on_error == "raise"
    assert resolve_extract_settings("shop", workers=2, on_error=None).workload.workers == 2
    assert resolve_extract_settings("shop", commit_interval=timedelta(minutes=1)).commit_interval == 60.0


@pytest.mark.parametrize("wrong", [{"commit_interval": 0}, {"commit_interval": -1.0}, {"workers": 0}])
def test_an_invalid_setting_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        resolve_extract_settings("shop", **wrong).workload  # noqa: B018 - it is checked when it is asked for


def test_progress_has_the_counts_of_each_resource(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    penstock.pipeline("shop", pipelines_dir=tmp_path, progress="log").extract([counter(3)])

    out = capsys.readouterr().out
    last = out.splitlines()[-1]
    assert re.fullmatch(r"extract of shop: counter 3 \([\d,]+/s\), done in \d+ s", last), out


def test_an_unknown_progress_is_refused() -> None:
    with pytest.raises(UsageError, match="no progress 'loud'"):
        penstock.pipeline("shop", progress="loud")
