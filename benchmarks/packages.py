"""Seconds and memory for a large package: `uv run python -m benchmarks.packages [--real] [tables] [files]`.

By default 500 tables of 2,000 data files each. Without `--real` data files are only counted in the control
files, as the stages count them; with it they are on the disk, empty.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.package import (
    DataFolder,
    JobFile,
    Manifest,
    Packages,
    PackageStorage,
    ParsedLoadJobFileName,
    Projection,
    Retention,
    TableEntry,
)
from penstock.package.projection.model import Level
from penstock.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Iterator

LOAD_ID = "1794709965.511098"


@contextmanager
def phase(what: str) -> Iterator[None]:
    """Print the seconds, and the peak memory of the process so far."""
    began, worked = time.perf_counter(), time.process_time()
    yield
    took, busy = time.perf_counter() - began, time.process_time() - worked
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{what:<44} {took:8.2f} s {busy:8.2f} s of processor {peak:8.0f} MB at most")


def job(package_path: str, table: int, files: int) -> JobFile:
    """A job that names a folder of data files."""
    return JobFile(
        name=ParsedLoadJobFileName(f"table_{table:04d}", "5c1c2f0d11", 0, "reference"),
        load_id=LOAD_ID,
        package_path=package_path,
        data=DataFolder(
            path=f"data/normalized/{table:04d}", files=files, bytes=files * 1024, digest="0" * 64
        ),
        columns="id STRING, row STRUCT<`id`: BIGINT>",
        projection=Projection(levels=(Level(table=f"table_{table:04d}"),)),
        rows=files * 10,
    )


def write_data(path: str, tables: int, files: int) -> None:
    """Empty data files, as many as there would be."""
    for table in range(tables):
        folder = Path(path) / "data" / "normalized" / f"{table:04d}"
        folder.mkdir(parents=True)
        for number in range(files):
            (folder / f"part-{number:05d}.parquet").touch()


def write(packages: Packages, jobs: list[JobFile]) -> Manifest:
    """Register every job, mark the package and seal it."""
    package = packages.package(LOAD_ID)
    packages.extracted_packages.create_package(LOAD_ID, schema=Schema("big"))
    for item in jobs:
        package.add_job(item)
    package.mark_normalized(
        {
            "jobs": [
                {"job_id": item.name.job_id(), "rows": item.rows, "bytes": item.data.bytes} for item in jobs
            ]
        }
    )
    manifest = Manifest(
        load_id=LOAD_ID,
        sequence=1,
        pipeline_name="big",
        dataset_name="big",
        schema_name="big",
        tables=tuple(
            TableEntry(
                table=item.name.table_name,
                job=item.name.file_name(),
                write_disposition="append",
                data=item.data.path,
                rows=item.rows,
            )
            for item in jobs
        ),
        folders=tuple(item.data for item in jobs),
        schema_before=None,
        schema=dict(Schema("big").to_dict()),
        state={},
    )
    assert packages.seal(manifest)
    return manifest


def load(storage: PackageStorage, jobs: list[JobFile]) -> None:
    """Start and complete every job."""
    for item in jobs:
        storage.start_job(LOAD_ID, item.name.file_name())
        storage.complete_job(LOAD_ID, item.name.file_name(), {"rows": item.rows})


def run(root: str, tables: int, files: int, *, real: bool) -> None:
    """All phases of one package."""
    packages = Packages.at(root)
    package = packages.package(LOAD_ID)
    if real:
        with phase(f"make {tables * files:,} empty data files"):
            write_data(package.path, tables, files)
    jobs = [job(package.path, table, files) for table in range(tables)]
    with phase(f"write {tables:,} jobs, mark, seal"):
        manifest = write(packages, jobs)
    with phase("get_load_package_info"):
        info = packages.normalized_packages.get_load_package_info(LOAD_ID)
    assert sum(item.file_size for item in info.jobs["new_jobs"]) == tables * files * 1024
    with phase(f"start and complete {tables:,} jobs"):
        load(packages.normalized_packages, jobs)
    with phase("commit and complete_loading_package"):
        packages.commit(manifest)
        packages.normalized_packages.complete_loading_package(LOAD_ID, "loaded")
    with phase("get_load_package_info of the finished one"):
        packages.loaded_packages.get_load_package_info(LOAD_ID)
    with phase("let the data go"):
        packages.apply_retention(Retention())
    size = len(packages.store.read("slots/0000000001.json") or b"")
    print(f"the manifest has {size:,} bytes")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--real", action="store_true")
    parser.add_argument("tables", type=int, nargs="?", default=500)
    parser.add_argument("files", type=int, nargs="?", default=2_000)
    given = parser.parse_args()
    print(f"Python {sys.version.split()[0]}, {given.tables:,} tables x {given.files:,} data files")
    root = tempfile.mkdtemp(prefix="penstock-packages-")
    try:
        run(root, given.tables, given.files, real=given.real)
    finally:
        shutil.rmtree(root)


if __name__ == "__main__":
    main()
