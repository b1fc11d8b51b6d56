"""The log of a plain table, and the lists of files that are on their way into it."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.destinations.filesystem.form import Form
from penstock.destinations.filesystem.log import Entry, TableLog
from penstock.destinations.filesystem.publish import FileList, Lists, Published, publish
from penstock.errors import PackageDamaged
from penstock.interfaces import LoadMark
from penstock.package.storage import FileStorage

if TYPE_CHECKING:
    from collections.abc import Callable

PARQUET, CSV = Form("parquet"), Form("csv", ("a", "b"))


def mark(sequence: int, pipeline: str = "shop") -> LoadMark:
    return LoadMark(
        pipeline_name=pipeline, sequence=sequence, load_id=f"{pipeline}{sequence}", manifest_hash="h"
    )


def add(log: TableLog, one: LoadMark, *keys: str, **said: Any) -> Entry:
    done = log.commit(
        lambda _: Entry.of_load(one, **{"kind": "append", **said}, files=dict.fromkeys(keys, CSV))
    )
    assert done is not None
    return done


@pytest.fixture
def store(tmp_path: Path) -> FileStorage:
    return FileStorage(str(tmp_path / "demo"))


@given(st.lists(st.tuples(st.sampled_from(["append", "replace"]), st.integers(0, 3)), max_size=40))
def test_a_table_is_what_its_log_says_at_any_version(steps: list[tuple[str, int]]) -> None:
    store = FileStorage(f"memory://{uuid4().hex}")
    log = TableLog(store, "items")
    expected: list[list[str]] = [[]]
    for number, (kind, count) in enumerate(steps):
        keys = [f"items/{number}.{file}" for file in range(count)]
        add(log, mark(number), *keys, kind=kind)
        expected.append([*(expected[-1] if kind == "append" else []), *keys])

    again = TableLog(store, "items")
    assert [list(again.alive(version)) for version in range(again.last() + 1)] == expected
    assert [one.version for one in again.headers()] == list(range(len(steps), 0, -1))


def test_an_entry_reads_back_as_it_was_written(store: FileStorage) -> None:
    log = TableLog(store, "items")
    entry = Entry(
        kind="undo", undoes="1.5", files={"k": CSV}, adopted={"l": PARQUET}, gone=("m",), whole={"n": PARQUET}
    )

    assert log.commit(lambda _: entry) == TableLog(store, "items").read(1)
    assert log.read(1).mentioned == {"k", "l", "m", "n"}


def test_a_load_is_found_behind_those_of_others_and_looked_for_no_further_than_needed(
    store: FileStorage,
) -> None:
    log = TableLog(store, "items")
    add(log, mark(1), "a")
    for number in range(60):
        add(log, mark(number, "other"), f"b{number}")

    found = log.find_mark(mark(1))
    assert found is not None
    assert found.version == 1
    assert log.find_mark(mark(2)) is None
    assert log.find("other7").files == {"b7": CSV}  # type: ignore[union-attr]
    assert log.find("none") is None


def test_of_many_who_commit_at_once_none_is_lost(store: FileStorage) -> None:
    def work(name: str) -> None:
        log = TableLog(store, "items")
        for number in range(5):
            add(log, mark(number, name), f"{name}/{number}")

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    log = TableLog(store, "items")
    assert log.last() == 20
    assert sorted(log.alive(20)) == sorted(f"{name}/{number}" for name in "abcd" for number in range(5))


@pytest.mark.parametrize("content", [b"{}", b'{"format_version": 1, "kind": "append"}', b"[]"])
def test_a_damaged_log_is_told(store: FileStorage, content: bytes) -> None:
    store.put("_dlt_files/items/0000000001.json", content)

    with pytest.raises(PackageDamaged):
        TableLog(store, "items").alive(1)


@pytest.fixture
def listed(store: FileStorage, tmp_path: Path) -> tuple[FileList, FileStorage]:
    package = FileStorage(str(tmp_path / "package"))
    package.put("data/one", b"first")
    package.put("data/two", b"second")
    files = (
        Published(path="data/one", key="items/a/1", bytes=5),
        Published(path="data/two", key="items/2", bytes=6),
    )
    return FileList(form=PARQUET, files=files, rows=2), package


def test_files_are_published_once_and_again(store: FileStorage, listed: tuple[FileList, FileStorage]) -> None:
    files, package = listed
    store.put("items/2", b"half")  # what an attempt has left that died

    for _ in range(2):
        publish(files, package, store)

    assert store.tree("items") == ["items/2", "items/a/1"]
    assert (store.read("items/a/1"), store.read("items/2")) == (b"first", b"second")
    package.delete("data")
    publish(files, package, store)
    assert not list(Path(store.root).rglob(".tmp-*"))


def test_files_are_published_in_an_object_store(listed: tuple[FileList, FileStorage]) -> None:
    files, package = listed
    lake = FileStorage("memory://bucket/demo")
    publish(files, package, lake)
    assert lake.tree("items") == ["items/2", "items/a/1"]

    there = FileStorage("memory://bucket/elsewhere")
    moved = [Published(path=one.key, key=one.key, bytes=one.bytes) for one in files.files]
    publish(FileList(form=PARQUET, files=tuple(moved), rows=2), lake, there)
    assert there.read("items/2") == b"second"


@pytest.mark.parametrize("make", [FileStorage, lambda _: FileStorage("memory://lists")])
def test_whoever_agrees_first_says_which_files_count(
    make: Callable[[str], FileStorage], tmp_path: Path
) -> None:
    lists = Lists(make(str(tmp_path)), "items")
    first = FileList(form=CSV, files=(Published(path="data/a", key="items/a", bytes=1),), rows=None)
    second = FileList(form=PARQUET, files=(), rows=0)

    assert lists.find("1.5") is None
    assert lists.agree("1.5", first) == first
    assert lists.agree("1.5", second) == first
    assert lists.keys() == {"items/a"}
    lists.forget("1.5")
    assert lists.keys() == frozenset()
    lists.store.delete("")
