from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.extract.parts import ROW_COLUMN, RowPartWriter, session_file_factory
from penstock.extract.plan import Rotation
from penstock.package import FileStorage

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa


def read(folder: Path) -> list[list[list[str]]]:
    """Return the texts of each row group of each file."""
    return [
        [
            pq.ParquetFile(path).read_row_group(group)["row"].to_pylist()
            for group in range(pq.ParquetFile(path).num_row_groups)
        ]
        for path in sorted(folder.rglob("*.parquet"))
    ]


def test_texts_are_written_in_order_and_counted(tmp_path: Path) -> None:
    texts = [f'{{"n":"ü{number}"}}' for number in range(1000)]

    with RowPartWriter(FileStorage(str(tmp_path)), "data", Rotation()) as writer:
        for text in texts:
            writer.write(text.encode())

    assert read(tmp_path) == [[texts]]
    assert (writer.rows, writer.bytes, writer.files) == (1000, sum(len(text.encode()) for text in texts), 1)


def test_row_groups_are_limited_by_rows_and_files_by_bytes(tmp_path: Path) -> None:
    rotation = Rotation(row_group_rows=2, row_group_bytes=1000, file_bytes=6)

    with RowPartWriter(FileStorage(str(tmp_path)), "data", rotation) as writer:
        for text in (b"aa", b"bb", b"cc", b"dd", b"ee"):
            writer.write(text)

    assert read(tmp_path) == [[["aa", "bb"], ["cc", "dd"]], [["ee"]]]
    assert sorted(path.name for path in (tmp_path / "data").iterdir()) == [
        "part-000000.parquet",
        "part-000001.parquet",
    ]
    assert writer.files == 2


def test_a_row_group_is_limited_by_bytes(tmp_path: Path) -> None:
    with RowPartWriter(FileStorage(str(tmp_path)), "data", Rotation(row_group_bytes=5)) as writer:
        for text in (b"aaaaaaaaa", b"bb", b"cc", b"dd", b"ee"):
            writer.write(text)

    assert read(tmp_path) == [[["aaaaaaaaa"], ["bb", "cc", "dd"], ["ee"]]]


@given(
    texts=st.lists(st.text(alphabet=st.characters(codec="utf-8"), max_size=6), max_size=30),
    rows=st.integers(1, 5),
    group=st.integers(1, 12),
    file=st.integers(1, 30),
)
def test_no_text_is_lost_or_repeated_with_any_limits(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], rows: int, group: int, file: int
) -> None:
    folder = tmp_path_factory.mktemp("parts")
    rotation = Rotation(row_group_rows=rows, row_group_bytes=group, file_bytes=file)

    with RowPartWriter(FileStorage(str(folder)), "data", rotation) as writer:
        for text in texts:
            writer.write(text.encode())

    parts = read(folder)
    assert [text for part in parts for group in part for text in group] == texts
    assert (writer.rows, writer.files) == (len(texts), len(parts))
    assert all(len(group) <= rows for part in parts for group in part)


def test_no_file_is_written_without_rows(tmp_path: Path) -> None:
    with RowPartWriter(FileStorage(str(tmp_path)), "data", Rotation()) as writer:
        pass

    assert (list(tmp_path.rglob("*")), writer.files) == ([], 0)


def test_the_column_cannot_be_null_and_is_compressed(tmp_path: Path) -> None:
    with RowPartWriter(FileStorage(str(tmp_path)), "data", Rotation()) as writer:
        writer.write(b"{}")

    file = pq.ParquetFile(tmp_path / "data" / "part-000000.parquet")
    assert not file.schema_arrow.field("row").nullable
    assert file.metadata.row_group(0).column(0).compression == "ZSTD"


def test_an_error_leaves_no_open_file_and_no_further_rows(tmp_path: Path) -> None:
    writer = RowPartWriter(FileStorage(str(tmp_path)), "data", Rotation(row_group_rows=2))

    def fail_after_three() -> None:
        with writer:
            for text in (b"a", b"b", b"c"):
                writer.write(text)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_after_three()
    assert read(tmp_path) == [[["a", "b"]]]
    assert writer.rows == 2


def test_a_file_of_a_slow_source_is_closed_after_some_time(tmp_path: Path) -> None:
    with RowPartWriter(FileStorage(str(tmp_path)), "data", Rotation(file_seconds=0.05)) as writer:
        writer.write(b"a")
        time.sleep(0.06)
        writer.write(b"b")
        parts = read(tmp_path)
        writer.write(b"c")

    assert parts == [[["a", "b"]]]
    assert read(tmp_path) == [[["a", "b"]], [["c"]]]


def test_rows_sent_to_a_session_are_not_written_by_the_driver(tmp_path: Path) -> None:
    sent: list[tuple[list[str], str]] = []

    def send(rows: pa.Table, address: str) -> None:
        sent.append((rows[ROW_COLUMN].to_pylist(), address))

    store = FileStorage(str(tmp_path))
    with RowPartWriter(
        store, "data", Rotation(row_group_rows=2), open_file=session_file_factory(send)
    ) as writer:
        for number in range(5):
            writer.write(str(number).encode())

    address = f"{tmp_path}/data"
    assert sent == [(["0", "1"], address), (["2", "3"], address), (["4"], address)]
    assert (writer.rows, store.names("data")) == (5, [])
