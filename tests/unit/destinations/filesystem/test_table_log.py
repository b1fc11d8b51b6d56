"""The log of a plain table, and the file lists of open loads."""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.destinations.filesystem import table_log as log_module
from penstock.destinations.filesystem.table_files import FileList, FileLists, PublishedFile, publish_files
from penstock.destinations.filesystem.table_log import LogEntry, TableLog
from penstock.errors import (
    DestinationAhead,
    DestinationTerminalException,
    DestinationTransientException,
    PackageDamaged,
)
from penstock.interfaces import LoadMark
from penstock.package.storage import FileStorage, as_json
from penstock.spark.file_format import FileCodec

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

PARQUET, CSV = FileCodec("parquet"), FileCodec("csv", ("a", "b"))


def mark(sequence: int, pipeline: str = "shop") -> LoadMark:
    return LoadMark(
        pipeline_name=pipeline, sequence=sequence, load_id=f"{pipeline}{sequence}", manifest_hash="h"
    )


def add(log: TableLog, load: LoadMark, *keys: str, **values: Any) -> LogEntry:
    committed = log.commit(
        lambda _: LogEntry.of_load(load, **{"kind": "append", **values}, files=dict.fromkeys(keys, CSV))
    )
    assert committed is not None
    return committed


def test_a_sequence_that_another_load_has_used_is_refused(store: FileStorage) -> None:
    log = TableLog(store, "items")
    add(log, mark(1), "a")
    add(log, mark(2), "b")
    add(log, mark(7, "other"), "c")

    for load in (replace(mark(2), load_id="another"), replace(mark(2), manifest_hash="another")):
        with pytest.raises(DestinationAhead):
            log.find_mark(load)
    with pytest.raises(DestinationAhead):
        log.find_mark(replace(mark(1), load_id="another"))
    assert log.find_mark(mark(3)) is None
    assert [entry.version for load in (1, 2) if (entry := log.find_mark(mark(load)))] == [1, 2]


@pytest.fixture
def store(tmp_path: Path) -> FileStorage:
    return FileStorage(str(tmp_path / "demo"))


@given(st.lists(st.tuples(st.sampled_from(["append", "replace"]), st.integers(0, 3)), max_size=40))
def test_the_log_lists_the_files_of_a_table_at_any_version(steps: list[tuple[str, int]]) -> None:
    store = FileStorage(f"memory://{uuid4().hex}")
    log = TableLog(store, "items")
    expected: list[list[str]] = [[]]
    for number, (kind, count) in enumerate(steps):
        keys = [f"items/{number}.{file}" for file in range(count)]
        add(log, mark(number), *keys, kind=kind)
        expected.append([*(expected[-1] if kind == "append" else []), *keys])

    again = TableLog(store, "items")
    assert [list(again.live_files(version)) for version in range(again.last_version() + 1)] == expected
    assert [header.version for header in again.headers()] == list(range(len(steps), 0, -1))


def test_an_entry_reads_back_as_it_was_written(store: FileStorage) -> None:
    log = TableLog(store, "items")
    entry = LogEntry(
        kind="undo",
        undoes="1.5",
        files={"k": CSV},
        adopted={"l": PARQUET},
        removed=("m",),
        checkpoint={"n": PARQUET},
    )

    assert log.commit(lambda _: entry) == TableLog(store, "items").read(1)
    assert log.read(1).known_files == {"k", "l", "m", "n"}


def test_a_load_is_found_behind_loads_of_other_pipelines_with_few_reads(
    store: FileStorage,
) -> None:
    log = TableLog(store, "items")
    add(log, mark(1), "a")
    for number in range(60):
        add(log, mark(number, "other"), f"b{number}")

    entry = log.find_mark(mark(1))
    assert entry is not None
    assert entry.version == 1
    assert log.find_mark(mark(2)) is None
    assert log.find_load("other7").files == {"b7": CSV}  # type: ignore[union-attr]
    assert log.find_load("none") is None


def test_no_concurrent_commit_is_lost(store: FileStorage) -> None:
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
    assert log.last_version() == 20
    assert sorted(log.live_files(20)) == sorted(f"{name}/{number}" for name in "abcd" for number in range(5))


@pytest.mark.parametrize("content", [b"{}", b'{"format_version": 1, "kind": "append"}', b"[]"])
def test_a_damaged_log_is_reported(store: FileStorage, content: bytes) -> None:
    store.put("_dlt_files/items/0000000001.json", content)

    with pytest.raises(PackageDamaged):
        TableLog(store, "items").live_files(1)


@pytest.fixture
def listed_files(store: FileStorage, tmp_path: Path) -> tuple[FileList, FileStorage]:
    package = FileStorage(str(tmp_path / "package"))
    package.put("data/one", b"first")
    package.put("data/two", b"second")
    files = (
        PublishedFile(path="data/one", key="items/a/1", bytes=5),
        PublishedFile(path="data/two", key="items/2", bytes=6),
    )
    return FileList(form=PARQUET, files=files, rows=2), package


def test_publishing_files_is_idempotent(
    store: FileStorage, listed_files: tuple[FileList, FileStorage]
) -> None:
    files, package = listed_files
    store.put("items/2", b"half")  # left by an attempt that died

    for _ in range(2):
        publish_files(files, package, store)

    assert store.tree("items") == ["items/2", "items/a/1"]
    assert (store.read("items/a/1"), store.read("items/2")) == (b"first", b"second")
    package.delete("data")
    publish_files(files, package, store)
    assert not list(Path(store.root).rglob(".tmp-*"))


def test_a_partly_copied_file_is_an_error(
    store: FileStorage, listed_files: tuple[FileList, FileStorage]
) -> None:
    files, package = listed_files
    package.put("data/two", b"sec")  # truncated since it was listed

    with pytest.raises(DestinationTransientException, match="has 3 bytes, and 6 were written"):
        publish_files(files, package, store)


def test_files_are_published_in_an_object_store(listed_files: tuple[FileList, FileStorage]) -> None:
    files, package = listed_files
    lake = FileStorage("memory://bucket/demo")
    publish_files(files, package, lake)
    assert lake.tree("items") == ["items/2", "items/a/1"]

    copy = FileStorage("memory://bucket/elsewhere")
    moved = [PublishedFile(path=file.key, key=file.key, bytes=file.bytes) for file in files.files]
    publish_files(FileList(form=PARQUET, files=tuple(moved), rows=2), lake, copy)
    assert copy.read("items/2") == b"second"


@pytest.mark.parametrize("make", [FileStorage, lambda _: FileStorage("memory://lists")])
def test_the_file_list_that_is_recorded_first_wins(
    make: Callable[[str], FileStorage], tmp_path: Path
) -> None:
    lists = FileLists(make(str(tmp_path)), "items")
    first = FileList(form=CSV, files=(PublishedFile(path="data/a", key="items/a", bytes=1),), rows=None)
    second = FileList(form=PARQUET, files=(), rows=0)

    assert lists.find("1.5") is None
    assert lists.record("1.5", first) == first
    assert lists.record("1.5", second) == first
    assert lists.pending_keys() == {"items/a"}
    lists.delete("1.5")
    assert lists.pending_keys() == frozenset()
    lists.store.delete("")


def _always(entry: LogEntry, _: object) -> LogEntry:
    return entry


def grow(log: TableLog, pipelines: list[str], *, undo: Collection[int] = ()) -> list[LogEntry]:
    """Commit a load of each pipeline in turn; the loads in `undo` are undone by the next commit."""
    entries = []
    for number, pipeline in enumerate(pipelines, start=1):
        load = mark(number, pipeline)
        entries.append(add(log, load, f"items/{number}"))
        if number in undo:
            remaining = {
                key: form
                for key, form in log.live_files(log.last_version()).items()
                if key != f"items/{number}"
            }
            undoing = LogEntry(kind="undo", undoes=load.load_id, checkpoint=remaining)
            log.commit(partial(_always, undoing))
    return entries


@pytest.fixture
def short_retention(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let entries expire at once, and retain few."""
    monkeypatch.setattr(log_module, "_RETENTION_SECONDS", -60.0)
    monkeypatch.setattr(log_module, "_RETAINED_ENTRIES", 20)
    monkeypatch.setattr(log_module, "_RECENT_HEADERS", 5)


class AllLoads:
    """Complete load ids: all except some."""

    def __init__(self, *incomplete: str) -> None:
        self.incomplete = incomplete

    def __contains__(self, load_id: object) -> bool:
        return load_id not in self.incomplete


@pytest.mark.usefixtures("short_retention")
@given(
    pipelines=st.lists(st.sampled_from("abc"), min_size=1, max_size=90),
    undone=st.sets(st.integers(1, 90), max_size=5),
    unfinished=st.sampled_from(["", "a", "b", "c"]),
    killed_after=st.integers(0, 40),
)
@settings(max_examples=40, deadline=None)
def test_a_pruned_log_returns_the_same_as_the_complete_one(
    pipelines: list[str], undone: set[int], unfinished: str, killed_after: int
) -> None:
    """The unpruned log beside it is the model; a process that prunes may be killed at any entry."""
    disk = FileStorage(f"memory://{uuid4().hex}")
    log, complete_log = TableLog(disk, "items"), TableLog(disk, "whole")
    last_load = {name: f"{name}{number}" for number, name in enumerate(pipelines, start=1)}
    open_load = last_load.get(unfinished, "")
    for table_log in (log, complete_log):
        grow(table_log, pipelines, undo=undone)
    deleted = 0

    def stop(name: str, delete: Callable[[str], None] = disk.delete) -> None:
        nonlocal deleted
        if deleted == killed_after:
            raise InterruptedError
        deleted += 1
        delete(name)

    disk.delete = stop  # type: ignore[method-assign]  # of this instance alone
    with suppress(InterruptedError):
        TableLog(disk, "items").prune(AllLoads(open_load))
    del disk.delete

    again = TableLog(disk, "items")
    last, first = complete_log.last_version(), min(int(name[:-5]) for name in disk.names("_dlt_files/items"))
    assert again.last_version() == last
    assert again.live_files(last) == complete_log.live_files(last)
    commit = next((header for header in complete_log.headers() if header.load_id == open_load), None)
    if commit is not None and not complete_log.is_undone(open_load):
        assert again.live_files(commit.version - 1) == complete_log.live_files(commit.version - 1)
        assert again.read(commit.version).files == complete_log.read(commit.version).files
    known = {name: number for number, name in enumerate(pipelines, start=1)}
    for name, number in known.items():
        if number in undone:
            with pytest.raises(DestinationTerminalException):
                again.find_mark(mark(number, name))
        else:
            assert again.find_mark(mark(number + 100, name)) is None
            headers = [header for header in again.headers() if header.pipeline_name == name]
            assert headers[0].load_id == f"{name}{number}"
    versions = [header.version for header in again.headers()]
    assert versions == sorted(versions, reverse=True)
    assert set(range(first, last + 1)) <= set(versions)


@pytest.mark.usefixtures("short_retention")
def test_the_size_of_an_entry_does_not_grow_with_the_log(store: FileStorage) -> None:
    names, sizes = [], []
    for number in range(1, 400):
        log = TableLog(store, "items")
        add(log, mark(number), f"items/{number}", kind="replace" if number % 50 == 0 else "append")
        if number % 16 == 0:
            log.prune(AllLoads())
        if number % 100 == 50:
            paths = store.entries("_dlt_files/items")
            names.append(len(paths))
            sizes.append(sum(path.size for path in paths))

    assert max(names) - min(names) < 16
    assert max(names) < 20 + 2 * 16
    assert max(sizes) < 2 * min(sizes)


@pytest.mark.usefixtures("short_retention")
def test_recent_entries_are_retained(store: FileStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_module, "_RETENTION_SECONDS", 3600.0)
    log = TableLog(store, "items")
    grow(log, ["a"] * 60)
    log.prune(AllLoads())

    assert len(store.names("_dlt_files/items")) == 60


@pytest.mark.usefixtures("short_retention")
def test_a_commit_with_the_number_of_a_deleted_one_is_retried(store: FileStorage) -> None:
    """A process is suspended before its commit, until its number is free again."""
    slow, log = TableLog(store, "items"), TableLog(store, "items")
    grow(log, ["a"] * 3)
    slept: list[bool] = []

    def make(last: int) -> LogEntry | None:
        if not slept:
            slept.append(True)
            slow.read(last)
            grow(log, ["a"] * 80)
            log.prune(AllLoads())
            assert not store.exists(f"_dlt_files/items/{last + 1:010}.json")
        return LogEntry.of_load(mark(1, "slow"), kind="append", files={"items/slow": CSV})

    committed = slow.commit(make)
    assert committed is not None
    assert committed.version == 84
    assert not store.exists("_dlt_files/items/0000000004.json")
    assert "items/slow" in TableLog(store, "items").live_files(84)


@pytest.mark.usefixtures("short_retention")
def test_pruning_returns_replaced_files_that_are_not_live_again(store: FileStorage) -> None:
    log = TableLog(store, "items")
    add(log, mark(1), "items/x1")
    log.commit(lambda _: LogEntry.of_load(mark(2), kind="replace", files={}, removed=("items/x1",)))
    log.commit(lambda _: LogEntry(kind="undo", undoes="shop2", checkpoint={"items/x1": CSV}))
    log.commit(lambda _: LogEntry.of_load(mark(3), kind="append", files={"items/x3": CSV}))
    log.commit(lambda _: LogEntry(kind="replace", files={"items/x1": CSV}, removed=("items/x3",)))
    grow(log, ["a"] * 60)

    assert log.prune(AllLoads()) == ["items/x3"]


def test_an_entry_of_an_older_release_is_read_and_continued(
    store: FileStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_module, "_RECENT_HEADERS", 5)
    grow(TableLog(store, "items"), ["a", "b"] * 10)
    for name in store.names("_dlt_files/items"):
        document = store.read_json(f"_dlt_files/items/{name}")
        assert document is not None
        del document["older"]
        store.put(f"_dlt_files/items/{name}", as_json(document))

    entry = add(TableLog(store, "items"), mark(21, "b"), "items/21")
    assert entry.older is not None
    assert [header.load_id for header in entry.older] == ["b16", "a15"]
