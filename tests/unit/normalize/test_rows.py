from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.normalize.row_numbers import row_number
from penstock.normalize.rows import MAX_SAMPLE_BYTES, MAX_SAMPLE_ROWS, read_sample
from penstock.package import FileStorage

if TYPE_CHECKING:
    from pathlib import Path


def write(folder: Path, number: int, texts: list[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"row": texts}), folder / f"part-{number:05d}.parquet", row_group_size=100)


def test_the_sample_of_a_small_table_is_complete(tmp_path: Path) -> None:
    write(tmp_path / "a", 0, ['{"x":1}', '{"x":2}'])
    write(tmp_path / "a", 1, ['{"y":"late"}'])
    write(tmp_path / "b", 0, ['{"z":true}'])

    sample = read_sample(FileStorage(str(tmp_path)), ["a", "b"], rows=4)

    assert sample.is_complete
    assert [item.path for item in sample.profile.evidence if item.path] == [("x",), ("x",), ("y",), ("z",)]


def test_folders_whose_files_are_known_are_not_listed(tmp_path: Path) -> None:
    write(tmp_path / "a", 0, ['{"x":1}'])
    write(tmp_path / "b", 0, ['{"y":1}'])
    write(tmp_path / "b", 1, ['{"z":1}'])
    listed = {"b": {"part-00001.parquet": (tmp_path / "b" / "part-00001.parquet").stat().st_size}}

    sample = read_sample(FileStorage(str(tmp_path)), ["a", "b"], rows=2, listed=listed)

    assert [item.path for item in sample.profile.evidence if item.path] == [("x",), ("z",)]


def test_the_sample_of_a_large_table_is_the_first_rows_of_each_file(tmp_path: Path) -> None:
    for number in range(4):
        write(tmp_path / "a", number, [f'{{"f{number}":{row}}}' for row in range(MAX_SAMPLE_ROWS)])

    sample = read_sample(FileStorage(str(tmp_path)), ["a"], rows=4 * MAX_SAMPLE_ROWS)

    assert not sample.is_complete
    assert sample.profile.rows == MAX_SAMPLE_ROWS
    assert {item.path for item in sample.profile.evidence if item.path} == {
        (f"f{number}",) for number in range(4)
    }


def test_the_sample_of_very_many_files_is_from_some_of_them(tmp_path: Path) -> None:
    for number in range(40):
        write(tmp_path / f"wave{number:03d}", 0, [f'{{"f{number}":1}}'])

    folders = [f"wave{number:03d}" for number in range(40)]
    sample = read_sample(FileStorage(str(tmp_path)), folders, rows=40)

    assert sample.profile.rows == 16
    assert ("f0",) in {item.path for item in sample.profile.evidence}


def test_the_sample_has_fewer_rows_where_rows_are_long(tmp_path: Path) -> None:
    text = '{"t":"' + "x" * (MAX_SAMPLE_BYTES // 4) + '"}'
    write(tmp_path / "a", 0, [text] * 10)

    assert read_sample(FileStorage(str(tmp_path)), ["a"], rows=10).profile.rows == 4


def test_row_numbers_follow_the_order_of_files() -> None:
    folders = ["data/a", "data/b"]
    places = [
        ("file:/x/data/a/part-00000.parquet", 0),
        ("file:/x/data/a/part-00000.parquet", 9),
        ("file:/x/data/a/part-00001-c0ffee.parquet", 0),
        ("file:/x/data/b/part-00000.parquet", 0),
    ]

    numbers = [row_number(file, position, folders) for file, position in places]

    assert numbers == sorted(set(numbers))
    assert row_number("data/a/part-00000.parquet", 9, folders) == numbers[1]
