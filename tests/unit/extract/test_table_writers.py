from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.extract.plan import Rotation
from penstock.extract.table_writers import TableWriters
from penstock.package import FileStorage

if TYPE_CHECKING:
    from pathlib import Path


def held(writers: TableWriters) -> int:
    return sum(writer.parts.buffered_bytes for writer in writers.all)


def opened(writers: TableWriters) -> int:
    return sum(writer.parts.is_open for writer in writers.all)


@given(sizes=st.lists(st.tuples(st.integers(0, 20), st.integers(1, 60)), max_size=80))
def test_memory_and_open_files_are_bounded(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[tuple[int, int]]
) -> None:
    store = FileStorage(str(tmp_path_factory.mktemp("writers")))
    rotation = Rotation(buffer_bytes=200, open_files=3, row_group_bytes=10_000)
    expected: dict[str, list[str]] = {}

    with TableWriters(store, rotation) as writers:
        for table, size in sizes:
            writer = writers.writer_for(f"t{table}", resource="r")
            text = f'"{len(expected):0{size}d}"'
            expected.setdefault(f"t{table}", []).append(text)
            writers.write(writer, text.encode())
            assert held(writers) <= 200
            assert opened(writers) <= 3

    texts_by_table = {
        writer.table: pq.read_table(store.path(writer.folder))["row"].to_pylist() for writer in writers.all
    }
    assert {name: sorted(texts) for name, texts in texts_by_table.items()} == {
        name: sorted(texts) for name, texts in expected.items()
    }


def test_after_an_error_files_are_closed_and_buffers_are_not_written(tmp_path: Path) -> None:
    store = FileStorage(str(tmp_path))

    def write() -> None:
        with TableWriters(store, Rotation()) as writers:
            writers.write(writers.writer_for("t", resource="r"), b"{}")
            raise KeyError("gone")

    with pytest.raises(KeyError):
        write()

    assert store.names("data/extracted") == []


def test_rows_of_two_resources_are_sent_to_two_folders(tmp_path: Path) -> None:
    sent: list[str] = []
    store = FileStorage(str(tmp_path))

    with TableWriters(
        store, Rotation(), per_resource=True, send=lambda _, address: sent.append(address)
    ) as writers:
        for resource in ("good", "bad"):
            writers.write(writers.writer_for("t", resource=resource), b"{}")
        writers.discard("bad")

    (remaining,) = writers.all
    assert (remaining.resource, remaining.folder) == ("good", "data/extracted/00000")
    assert sent == [store.path("data/extracted/00000")]
