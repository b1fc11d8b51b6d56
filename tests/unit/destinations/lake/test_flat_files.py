"""Files of a job that a table takes as they are: copied without a look at their rows."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from penstock.destinations.delta.delta_log import DeltaLog
from penstock.destinations.delta.file_commit import Obstacle, commit_job_files
from penstock.destinations.lake.flat_files import JobFiles
from penstock.interfaces import AppliedJob, LoadMark
from penstock.package import DataFolder, FileStorage, JobFile, JobPart, ParsedLoadJobFileName
from penstock.package.job_file import FrameFileColumn
from penstock.package.projection.model import Projection

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FLAT = Projection(levels=())
FOLDERS = ("data/extracted/00000", "data/extracted/00001")


def job(package_path: str, *columns: str, landed: Any = ()) -> JobFile:
    first, *more = (
        JobPart(data=DataFolder(path=folder), columns=ddl, projection=FLAT, landed=landed)
        for folder, ddl in zip(FOLDERS, columns, strict=False)
    )
    return JobFile(
        name=ParsedLoadJobFileName("items", "x", 0, "reference"),
        load_id="17.5",
        package_path=package_path,
        data=first.data,
        columns=first.columns,
        projection=first.projection,
        landed=first.landed,
        more=tuple(more),
    )


def write_files(package: FileStorage, folder: str, *row_counts: int) -> None:
    for number, rows in enumerate(row_counts):
        with package.open_new(f"{folder}/part-{number}-c000.snappy.parquet") as stream:
            pq.write_table(pa.table({"id": pa.array(range(rows), pa.int64())}), stream)
    package.put(f"{folder}/_SUCCESS", b"")
    package.put(f"{folder}/.part-0.crc", b"crc")


def test_parts_with_one_type_for_each_column_are_taken_as_they_are() -> None:
    assert JobFiles.of_job(job("p", "`id` BIGINT", "`id` BIGINT, `name` STRING")) is not None
    assert JobFiles.of_job(job("p", "`id` BIGINT", "`id` DOUBLE")) is None
    landed = (FrameFileColumn(column="id", field="id", sql_type="BIGINT"),)
    assert JobFiles.of_job(job("p", "`id` BIGINT", landed=landed)) is None


def test_files_that_were_copied_before_a_crash_are_no_part_of_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package, lake = FileStorage(str(tmp_path / "package")), FileStorage(str(tmp_path / "lake"))
    write_files(package, FOLDERS[0], 3, 0, 5)
    files = JobFiles(job=job(package.root, "`id` BIGINT"))
    mark = LoadMark(pipeline_name="shop", sequence=1, load_id="17.5", manifest_hash="m")

    with monkeypatch.context() as patch:
        patch.setattr(DeltaLog, "commit", lambda *_: pytest.fail("the driver dies"))
        with pytest.raises(pytest.fail.Exception):
            commit_job_files(lake, "items", files, mark, replaces_rows=False)
    assert len(list(tmp_path.glob("lake/items/*/*.parquet"))) == 3

    first = commit_job_files(lake, "items", files, mark, replaces_rows=False)
    again = commit_job_files(lake, "items", files, mark, replaces_rows=False)
    package.delete("data")

    assert isinstance(first, AppliedJob)
    assert first.rows == 8
    assert isinstance(again, Obstacle)
    table = DeltaTable(str(tmp_path / "lake" / "items"))
    assert sorted(table.to_pyarrow_table()["id"].to_pylist()) == sorted([*range(3), *range(5)])


def test_files_are_linked_on_a_disk_and_look_new_to_vacuum(tmp_path: Path) -> None:
    package, store = FileStorage(str(tmp_path / "package")), FileStorage(str(tmp_path / "lake"))
    write_files(package, FOLDERS[0], 3, 0, 5)
    write_files(package, FOLDERS[1], 7)
    sources = sorted(tmp_path.glob("package/data/extracted/*/*.parquet"))
    started = time.time()
    for path in sources:
        os.utime(path, (1, 1))

    files = JobFiles(job=job(package.root, "`id` BIGINT", "`id` BIGINT")).copy_to(store, "items")
    package.delete("data")

    assert [file.footer.num_rows for file in files] == [3, 0, 5, 7]
    assert len({file.path.rsplit("/", 1)[0] for file in files}) == 1
    copies = [tmp_path / "lake" / "items" / file.path for file in files]
    assert [path.stat().st_size for path in copies] == [file.size for file in files]
    assert [pq.read_table(path).num_rows for path in copies] == [3, 0, 5, 7]
    assert all(path.stat().st_mtime >= started - 1 for path in copies)
    assert sorted(path.name for path in (tmp_path / "lake" / "items").glob("*/*")) == [
        f"part-{number:05d}.parquet" for number in range(4)
    ]


@pytest.fixture
def bucket() -> Iterator[str]:
    yield "memory://flat-files"
    FileStorage("memory://flat-files").delete("")


@pytest.mark.parametrize("is_large", [True, False])
def test_large_files_are_copied_inside_a_store(
    bucket: str, is_large: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    package, store = FileStorage(f"{bucket}/package"), FileStorage(f"{bucket}/lake")
    write_files(package, FOLDERS[0], 3, 5)
    requests: list[str] = []
    for method in ("read", "copy_from"):
        call = getattr(FileStorage, method)

        def record(storage: FileStorage, *arguments: Any, call: Any = call, method: str = method) -> Any:
            requests.append(method)
            return call(storage, *arguments)

        monkeypatch.setattr(FileStorage, method, record)
    limit = 0 if is_large else 1_000_000
    monkeypatch.setattr(sys.modules[JobFiles.__module__], "_MAX_BUFFERED_BYTES", limit)

    files = JobFiles(job=job(package.root, "`id` BIGINT")).copy_to(store, "items")

    assert requests == ["copy_from" if is_large else "read"] * 2
    assert [file.footer.num_rows for file in files] == [3, 5]
    for file in files:
        with store.open(f"items/{file.path}") as stream:
            assert pq.read_table(stream).num_rows == file.footer.num_rows
