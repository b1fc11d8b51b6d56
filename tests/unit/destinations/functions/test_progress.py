from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.destinations.functions.batches import pending_batches
from penstock.destinations.functions.progress import BatchProgress, merged_ranges
from penstock.interfaces.run_context import override_context
from penstock.package import package_context
from penstock.package.package import Package
from penstock.package.storage import FileStorage

if TYPE_CHECKING:
    from pathlib import Path


def progress_of(*rows: int, size: int, done: tuple[tuple[int, int], ...] = ()) -> BatchProgress:
    files = tuple((f"data/{number}.parquet", count) for number, count in enumerate(rows))
    return BatchProgress(files=files, batch_size=size, done=done)


def write_numbers(folder: Path, progress: BatchProgress) -> FileStorage:
    """Write the numbers of rows into the files, counted through all files."""
    first = 0
    (folder / "data").mkdir()
    for name, rows in progress.files:
        pq.write_table(pa.table({"n": range(first, first + rows)}), folder / name, row_group_size=2)
        first += rows
    return FileStorage(str(folder))


@given(st.sets(st.integers(min_value=0, max_value=30)))
def test_ranges_have_exactly_the_numbers_they_were_made_of(numbers: set[int]) -> None:
    ranges = merged_ranges((number, number) for number in numbers)

    assert {number for first, last in ranges for number in range(first, last + 1)} == numbers
    assert all(last + 1 < first for (_, last), (first, _) in pairwise(ranges))


@pytest.mark.parametrize(("size", "batches"), [(1, 7), (3, 3), (7, 1), (10, 1)])
def test_the_last_batch_may_be_smaller(size: int, batches: int) -> None:
    assert progress_of(4, 3, size=size).batch_count == batches


def test_paths_are_one_batch_for_each_file() -> None:
    assert progress_of(4, 3, size=0).batch_count == 2
    assert progress_of(size=3).batch_count == 0


def test_a_batch_has_the_same_rows_whatever_is_done_before(tmp_path: Path) -> None:
    whole = progress_of(5, 1, 4, size=3)
    store = write_numbers(tmp_path, whole)
    rows = {number: batch.column("n").to_pylist() for number, batch in pending_batches(store, whole)}
    resumed = whole.with_done([0]).with_done([2])

    rest = {number: batch.column("n").to_pylist() for number, batch in pending_batches(store, resumed)}

    assert rows == {0: [0, 1, 2], 1: [3, 4, 5], 2: [6, 7, 8], 3: [9]}
    assert rest == {1: [3, 4, 5], 3: [9]}
    assert (resumed.done, resumed.done_count, resumed.batch_count) == (((0, 0), (2, 2)), 2, 4)


def test_the_progress_of_a_job_survives_its_process(tmp_path: Path) -> None:
    progress = progress_of(5, size=2, done=((0, 1),))
    package = Package(FileStorage(str(tmp_path)), "1.5")
    with override_context(), package_context(package):
        assert BatchProgress.load("items.x.reference") is None
        progress.save("items.x.reference")

    with package_context(Package(FileStorage(str(tmp_path)), "1.5")):
        loaded = BatchProgress.load("items.x.reference")

    assert loaded == progress
