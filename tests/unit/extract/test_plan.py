from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import UsageError
from penstock.extract.plan import MEGABYTE, Rotation, Workload, part_name, table_folder


@pytest.mark.parametrize(
    ("rows", "size", "full"),
    [(1, 16 * MEGABYTE, True), (100_000, 1, True), (99_999, 16 * MEGABYTE - 1, False)],
)
def test_a_row_group_is_full_by_rows_or_by_bytes(rows: int, size: int, full: bool) -> None:
    assert Rotation().group_is_full(rows=rows, size=size) is full


def test_a_file_is_full_by_bytes() -> None:
    assert [Rotation(file_bytes=10).file_is_full(size) for size in (9, 10, 11)] == [False, True, True]


@given(st.lists(st.integers(0, 999_999), unique=True, max_size=20))
def test_names_of_part_files_sort_in_the_order_they_were_written(numbers: list[int]) -> None:
    names = [part_name("data/extracted/00000", number) for number in sorted(numbers)]

    assert names == sorted(names)


def test_tables_have_numbered_folders_in_the_package() -> None:
    assert table_folder(12) == "data/extracted/00012"
    assert part_name(table_folder(12), 3) == "data/extracted/00012/part-000003.parquet"


@pytest.mark.parametrize(
    "settings", [{"workers": 0}, {"max_parallel_items": 0}, {"next_item_mode": "sideways"}], ids=str
)
def test_a_workload_without_workers_or_time_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        Workload(**settings)
