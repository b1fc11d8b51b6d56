"""Rows of a job that the driver reads to commit them to an Iceberg table."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
from tests.unit.destinations.lake.test_flat_files import FOLDERS, job

from penstock.destinations.iceberg.file_commit import read_job_rows
from penstock.destinations.lake.flat_files import JobFiles
from penstock.package import FileStorage

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_the_rows_of_all_folders_are_read_with_the_columns_of_the_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = FileStorage(str(tmp_path))
    names, positions = pa.array(["a", "b"]), pa.array([0, 1])
    for folder, rows in zip(
        FOLDERS,
        (pa.table({"id": [1, 2]}), pa.table({"id": [3, 4], "name": names, "_position": positions})),
        strict=True,
    ):
        with package.open_new(f"{folder}/part-0.parquet") as stream:
            pq.write_table(rows, stream)
    files = JobFiles(job=job(package.root, "`id` BIGINT", "`id` BIGINT, `name` STRING"))

    rows = read_job_rows(files)

    assert rows is not None
    assert rows.to_pylist() == [
        {"id": 1, "name": None},
        {"id": 2, "name": None},
        {"id": 3, "name": "a"},
        {"id": 4, "name": "b"},
    ]
    assert read_job_rows(JobFiles(job=replace(files.job, rows=100_001))) is None
    monkeypatch.setattr(sys.modules[read_job_rows.__module__], "_MAX_BYTES", 10)
    assert read_job_rows(files) is None
