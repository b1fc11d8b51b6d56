from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.normalize.sample import MAX_BYTES, MAX_ROWS, read_sample, row_number
from penstock.package import FileStorage

if TYPE_CHECKING:
    from pathlib import Path


def write(folder: Path, number: int, texts: list[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"row": texts}), folder / f"part-{number:05d}.parquet", row_group_size=100)


def test_a_small_table_is_known_completely(tmp_path: Path) -> None:
    write(tmp_path / "a", 0, ['{"x":1}', '{"x":2}'])
    write(tmp_path / "a", 1, ['{"y":"late"}'])
    write(tmp_path / "b", 0, ['{"z":true}'])

    head = read_sample(FileStorage(str(tmp_path)), ["a", "b"], rows=4)

    assert head.is_complete
    assert [one.path for one in head.profile.evidence if one.path] == [("x",), ("x",), ("y",), ("z",)]


def test_of_a_large_table_the_first_rows_of_each_file_are_looked_at(tmp_path: Path) -> None:
    for number in range(4):
        write(tmp_path / "a", number, [f'{{"f{number}":{row}}}' for row in range(MAX_ROWS)])

    head = read_sample(FileStorage(str(tmp_path)), ["a"], rows=4 * MAX_ROWS)

    assert not head.is_complete
    assert head.profile.rows == MAX_ROWS
    assert {one.path for one in head.profile.evidence if one.path} == {(f"f{number}",) for number in range(4)}


def test_of_very_many_files_some_are_read(tmp_path: Path) -> None:
    for number in range(40):
        write(tmp_path / f"wave{number:03d}", 0, [f'{{"f{number}":1}}'])

    folders = [f"wave{number:03d}" for number in range(40)]
    head = read_sample(FileStorage(str(tmp_path)), folders, rows=40)

    assert head.profile.rows == 16
    assert ("f0",) in {one.path for one in head.profile.evidence}


def test_long_rows_end_the_look_early(tmp_path: Path) -> None:
    text = '{"t":"' + "x" * (MAX_BYTES // 4) + '"}'
    write(tmp_path / "a", 0, [text] * 10)

    assert read_sample(FileStorage(str(tmp_path)), ["a"], rows=10).profile.rows == 4


def test_rows_are_numbered_in_the_order_of_their_files() -> None:
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
