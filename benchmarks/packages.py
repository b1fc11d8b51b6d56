"""A package of many tables and data files: seconds, memory and storage calls to write, look at and finish it.

    python benchmarks/packages.py --tables 500 --files 2000 [--real]

With `--real` the data files are made, empty, on local disk: a million of them by default. Without it the job
files only say that there are so many, which is all that the package looks at. The same is then done with two
files for each table: calls must not grow with the number of data files.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from penstock.package import (
    DataFolder,
    FileStorage,
    JobFile,
    Manifest,
    Packages,
    ParsedLoadJobFileName,
    Projection,
    TableEntry,
)
from penstock.package.local import LocalFiles
from penstock.schema import Schema

LOAD = "1794709965.511098"
FILE_BYTES = 10 * 1024 * 1024


class Counted(LocalFiles):
    """A disk that counts what it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: Counter[str] = Counter()

    def __getattribute__(self, name: str) -> Any:
        if name in {"read", "exists", "put", "put_if_absent", "move", "entries", "delete", "open_new"}:
            self.calls[name] += 1
        return super().__getattribute__(name)


def main() -> int:
    """Print the tables; fail when calls grow with files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=500)
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument("--real", action="store_true")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.tables, options.files, real=options.real)))
        return 0
    found = {files: in_process(options.tables, files, real=options.real) for files in (2, options.files)}
    print(f"{'tables x files':>16} {'step':>28} {'seconds':>8} {'calls':>6} {'peak MiB':>9}")
    for files, steps in found.items():
        for step, facts in steps.items():
            print(
                f"{f'{options.tables} x {files}':>16} {step:>28} {facts['seconds']:>8.2f}"
                f" {facts['calls']:>6.0f} {facts['peak']:>9.0f}"
            )
    few, many = ({step: facts["calls"] for step, facts in steps.items()} for steps in found.values())
    print("calls do not grow with files" if few == many else "CALLS GROW WITH FILES")
    return 0 if few == many else 1


def in_process(tables: int, files: int, *, real: bool) -> dict[str, dict[str, float]]:
    """One measurement in a fresh process."""
    command = [sys.executable, __file__, "--one", "--tables", str(tables), "--files", str(files)]
    done = subprocess.run(
        [*command, *(["--real"] if real else [])], check=True, capture_output=True, text=True
    )
    steps: dict[str, dict[str, float]] = json.loads(done.stdout.splitlines()[-1])
    return steps


def measure(tables: int, files: int, *, real: bool) -> dict[str, dict[str, float]]:
    """Write, look at, load and finish one package."""
    disk, steps = Counted(), {}
    with tempfile.TemporaryDirectory(prefix="penstock-packages-") as folder:
        packages = Packages(FileStorage(folder, files=disk))
        package = packages.package(LOAD)
        if real:
            for table in range(tables):
                make_files(Path(folder) / "packages" / LOAD / data_of(table), files)

        def took(step: str, work: Any) -> None:
            disk.calls.clear()
            started = time.monotonic()
            work()
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            calls = sum(disk.calls.values())
            steps[step] = {"seconds": time.monotonic() - started, "calls": calls, "peak": peak}

        manifest = manifest_of(tables, files)
        took("write and seal", lambda: write(packages, manifest))
        took("look at it", lambda: str(packages.normalized.get_load_package_info(LOAD)))
        took("list packages", packages.normalized.list_packages)
        took("start and complete all jobs", lambda: run_jobs(packages, manifest))
        took("commit and mark as loaded", lambda: end(packages, manifest))
        took("let the data go", package.remove_data)
    return steps


def data_of(table: int) -> str:
    """The folder of a table's data."""
    return f"data/normalized/0a1b2c/{table:05d}"


def make_files(folder: Path, count: int) -> None:
    """Empty files, as quickly as the disk allows."""
    folder.mkdir(parents=True)
    for number in range(count):
        os.close(os.open(folder / f"part-{number:05d}.parquet", os.O_CREAT | os.O_WRONLY))


def manifest_of(tables: int, files: int) -> Manifest:
    """The sealed content of such a package."""
    folders = tuple(
        DataFolder(path=data_of(table), files=files, bytes=files * FILE_BYTES, digest="0" * 64)
        for table in range(tables)
    )
    entries = tuple(
        TableEntry(
            table=f"table_{number}",
            job=ParsedLoadJobFileName(f"table_{number}", f"{number:010x}", 0, "reference").file_name(),
            write_disposition="append",
            data=folder.path,
            rows=files,
        )
        for number, folder in enumerate(folders)
    )
    return Manifest(
        load_id=LOAD,
        sequence=1,
        pipeline_name="shop",
        dataset_name="lake",
        schema_name="shop",
        tables=entries,
        folders=folders,
        schema_before=None,
        schema=dict(Schema("shop").to_dict()),
        state={},
    )


def write(packages: Packages, manifest: Manifest) -> None:
    """What normalize and seal do."""
    package = packages.package(LOAD)
    package.create()
    for entry, folder in zip(manifest.tables, manifest.folders, strict=True):
        package.add_job(
            JobFile(
                name=ParsedLoadJobFileName.parse(entry.job),
                load_id=LOAD,
                package_path=package.path,
                data=folder,
                columns="id STRING, row STRUCT<`id`: BIGINT>",
                projection=Projection(),
                rows=entry.rows,
            )
        )
    package.mark_extracted({"schema_name": "shop", "resources": []})
    package.save_schema(dict(manifest.schema))
    jobs = [
        {"job_id": ParsedLoadJobFileName.parse(entry.job).job_id(), "rows": entry.rows, "bytes": folder.bytes}
        for entry, folder in zip(manifest.tables, manifest.folders, strict=True)
    ]
    package.mark_normalized({"jobs": jobs, "tables": [], "folders": []})
    if not packages.seal(manifest):
        raise SystemExit("the slot was taken")


def run_jobs(packages: Packages, manifest: Manifest) -> None:
    """What load does to job files."""
    for entry in manifest.tables:
        packages.normalized.start_job(LOAD, entry.job)
        packages.normalized.complete_job(LOAD, entry.job, {"rows": entry.rows})


def end(packages: Packages, manifest: Manifest) -> None:
    """Commit, and write the last marker."""
    packages.commit(manifest)
    packages.package(LOAD).complete()


if __name__ == "__main__":
    sys.exit(main())
