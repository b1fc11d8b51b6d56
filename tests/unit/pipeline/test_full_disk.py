"""A full disk is named in the error, with a hint; once space is free the next run continues."""

from __future__ import annotations

import random
import shutil
from typing import TYPE_CHECKING

import pytest

import penstock
from penstock.errors import PipelineStepFailed, StorageFull
from penstock.package import FileStorage
from penstock.package.trust import require_trust
from penstock.pipeline.workdir import WorkDir

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAGE = 4096


def fill(disk: Path) -> Path:
    """Leave no byte on a disk; return the file that has taken them."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as stream:
        while stream.write(bytes(PAGE)) == PAGE and shutil.disk_usage(disk).free:
            pass
    return ballast


def rows() -> Iterator[dict[str, str]]:
    """Rows of 8 MB that do not compress."""
    source = random.Random(7)
    for _ in range(8):
        yield {"text": source.randbytes(512 * 1024).hex()}


def check_disk_is_named(error: BaseException, disk: Path) -> None:
    assert isinstance(error, StorageFull)
    assert error.path.startswith(str(disk))
    assert str(error.path) in error.message
    assert "free space" in error.hint
    assert "run again" in error.hint


def test_rows_that_do_not_fit_on_the_disk_are_extracted_once_space_is_free(
    small_disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXTRACT__PACKAGE_STORAGE", str(small_disk))
    pipeline = penstock.pipeline("shop", pipelines_dir=tmp_path / "pipelines")
    pipeline.extract([{"id": 1}], table_name="orders")
    (stored,) = pipeline.list_extracted_load_packages()

    with pytest.raises(PipelineStepFailed) as raised:
        pipeline.extract(rows, table_name="texts")

    check_disk_is_named(raised.value.exception, small_disk)
    assert pipeline.list_extracted_load_packages() == [stored]
    info = pipeline.extract([{"id": 2}], table_name="orders")
    assert pipeline.list_extracted_load_packages() == [stored, *info.loads_ids]


def test_a_control_file_that_does_not_fit_leaves_the_old_one(small_disk: Path, tmp_path: Path) -> None:
    storage, elsewhere = FileStorage(str(small_disk)), FileStorage(str(tmp_path / "elsewhere"))
    storage.put("state.json", b"before")
    ballast = fill(small_disk)
    size = 64 * 1024
    elsewhere.put("rows", bytes(size))

    for write in (
        lambda: storage.put("state.json", bytes(size)),
        lambda: storage.put_if_absent("new.json", bytes(size)),
        lambda: storage.copy_from(elsewhere, "rows", "copy"),
        lambda: require_trust(storage),
    ):
        with pytest.raises(StorageFull) as raised:
            write()
        check_disk_is_named(raised.value, small_disk)

    assert storage.read("state.json") == b"before"
    assert storage.tree("") == ["ballast", "state.json"]
    ballast.unlink()
    storage.put("state.json", bytes(size))
    assert storage.read("state.json") == bytes(size)


def test_a_full_working_folder_is_named(small_disk: Path) -> None:
    workdir = WorkDir(small_disk / "shop")
    workdir.save_local_values({"seen": 1})
    fill(small_disk)

    with pytest.raises(StorageFull) as raised:
        workdir.save_local_values({"seen": "x" * 100_000})

    check_disk_is_named(raised.value, small_disk)
    assert workdir.local_values() == {"seen": 1}
