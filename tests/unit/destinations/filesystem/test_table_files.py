"""The files of a plain table: those of its log, and those of loads without a log."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest

from penstock.destinations.filesystem.layout import FileLayout
from penstock.destinations.filesystem.table_files import FileList, PublishedFile, TableFiles
from penstock.destinations.filesystem.table_log import LogEntry
from penstock.errors import DestinationTerminalException
from penstock.interfaces import LoadMark
from penstock.interfaces.ledger import CommitRecord
from penstock.package.file_ledger import FileLedger
from penstock.package.storage import FileStorage
from penstock.spark.file_format import FileCodec

if TYPE_CHECKING:
    from pathlib import Path

PARQUET = FileCodec("parquet")


@pytest.fixture
def store(tmp_path: Path) -> FileStorage:
    return FileStorage(str(tmp_path / "demo"))


def table(store: FileStorage, layout: FileLayout | None = None) -> TableFiles:
    """Return the table as a new process opens it."""
    return TableFiles(store, FileLedger(store), layout or FileLayout(), "shop", "items")


def complete(store: FileStorage, load_id: str, *, by_dlt: bool) -> None:
    FileLedger(store).commit(
        CommitRecord(
            load_id=load_id,
            schema_name="shop",
            schema_version_hash="h",
            inserted_at="2024-01-01T00:00:00+00:00",
            manifest_hash=None if by_dlt else "hash",
        )
    )


def put(store: FileStorage, *keys: str) -> None:
    for key in keys:
        store.put(key, b"rows")


def commit_files(store: FileStorage, sequence: int, *keys: str, kind: str = "append") -> None:
    mark = LoadMark(pipeline_name="p", sequence=sequence, load_id=f"{sequence}.5", manifest_hash="hash")
    entry = LogEntry.of_load(mark, kind=kind, files=dict.fromkeys(keys, PARQUET))
    put(store, *keys)
    table(store).log.commit(lambda _: entry)


def test_files_of_dlt_are_visible_once_their_load_is_complete(store: FileStorage) -> None:
    put(store, "items/7.5.aa.parquet", "items/8.5.bb.jsonl.gz", "items/9.5.cc.parquet", "items/8.5.sql")
    for load_id in ("7.5", "8.5"):
        complete(store, load_id, by_dlt=True)

    assert table(store).files() == {
        "items/7.5.aa.parquet": PARQUET,
        "items/8.5.bb.jsonl.gz": FileCodec("jsonl"),
    }


def test_files_of_penstock_are_visible_only_by_the_log(store: FileStorage) -> None:
    commit_files(store, 1, "items/1.5.aa.parquet")
    put(store, "items/2.5.bb.parquet")  # published, and its chain was left out of a load that is complete
    complete(store, "2.5", by_dlt=False)

    assert list(table(store).files()) == ["items/1.5.aa.parquet"]


def test_the_columns_of_a_foreign_csv_file_are_those_of_its_header(store: FileStorage) -> None:
    store.put("items/7.5.aa.csv.gz", gzip.compress(b'b,"a c"\n1,2\n'))
    store.put("items/7.5.bb.csv", b"a\n")
    complete(store, "7.5", by_dlt=True)

    assert table(store).files() == {
        "items/7.5.aa.csv.gz": FileCodec("csv", ("b", "a c")),
        "items/7.5.bb.csv": FileCodec("csv", ("a",)),
    }


def test_without_load_ids_in_names_all_files_but_those_of_open_loads_are_visible(store: FileStorage) -> None:
    layout = FileLayout(template="{table_name}/{file_id}.{ext}")
    put(store, "items/aa.parquet", "items/bb.parquet")
    file_list = FileList(
        form=PARQUET, files=(PublishedFile(path="data/x", key="items/bb.parquet", bytes=4),), rows=1
    )
    table(store, layout).file_lists.record("9.5", file_list)

    assert (
        list(table(store, layout).files())
        == list(table(store, layout).foreign_files())
        == ["items/aa.parquet"]
    )


def test_a_missing_file_is_an_error_unless_dlt_has_replaced_the_table(store: FileStorage) -> None:
    commit_files(store, 3, "items/3.5.aa.parquet", "items/3.5.bb.parquet")
    complete(store, "3.5", by_dlt=False)
    complete(store, "2.5", by_dlt=True)
    store.delete("items/3.5.aa.parquet")

    with pytest.raises(
        DestinationTerminalException, match=r"1 files of table items do not exist, items/3\.5\.aa"
    ):
        table(store).files()

    store.delete("items/3.5.bb.parquet")
    put(store, "items/4.5.cc.parquet")
    complete(store, "4.5", by_dlt=True)
    assert list(table(store).files()) == ["items/4.5.cc.parquet"]
    commit_files(store, 5, "items/5.5.dd.parquet")
    assert list(table(store).files()) == ["items/5.5.dd.parquet", "items/4.5.cc.parquet"]


def test_files_of_another_layout_are_found_by_the_log(store: FileStorage) -> None:
    commit_files(store, 1, "items/1.5.aa.parquet", "items/deep/1.5.bb.parquet")
    flat = FileLayout(template="{table_name}.{load_id}.{file_id}")

    assert list(table(store, flat).files()) == ["items/1.5.aa.parquet", "items/deep/1.5.bb.parquet"]


def test_an_older_version_lists_its_own_files(store: FileStorage) -> None:
    commit_files(store, 1, "items/1.5.aa.parquet")
    commit_files(store, 2, "items/2.5.bb.parquet", kind="replace")

    assert list(table(store).files(1)) == ["items/1.5.aa.parquet"]
    assert list(table(store).files(2)) == list(table(store).files()) == ["items/2.5.bb.parquet"]
    store.delete("items/1.5.aa.parquet")
    with pytest.raises(DestinationTerminalException) as caught:
        table(store).files(1)
    assert caught.value.hint.startswith("open the dataset again")


def test_files_of_dlt_are_visible_until_the_load_that_replaces_them_is_complete(store: FileStorage) -> None:
    commit_files(store, 1, "items/1.5.aa.parquet")
    put(store, "items/7.5.bb.parquet")
    complete(store, "7.5", by_dlt=True)
    files = table(store).foreign_files()
    entry = LogEntry(kind="replace", adopted=files, removed=("items/1.5.aa.parquet", *files))
    table(store).log.commit(lambda _: entry)

    assert list(table(store).files(1)) == ["items/1.5.aa.parquet", "items/7.5.bb.parquet"]
    assert list(table(store).files(2)) == []


@pytest.mark.parametrize("more", [1, 40], ids=["soon", "much later"])
def test_replaced_files_that_are_not_deleted_yet_stay_invisible(store: FileStorage, more: int) -> None:
    put(store, "items/7.5.bb.parquet")
    complete(store, "7.5", by_dlt=True)
    files = table(store).foreign_files()
    entry = LogEntry(kind="replace", adopted=files, removed=tuple(files))
    table(store).log.commit(lambda _: entry)
    for number in range(2, 16 + more):
        commit_files(store, number, f"items/{number}.5.aa.parquet")

    assert "items/7.5.bb.parquet" not in table(store).files()
    assert table(store).foreign_files() == {}


def test_a_flat_layout_keeps_tables_apart(store: FileStorage) -> None:
    flat = FileLayout(template="{table_name}_{file_id}.{ext}")
    put(store, "items_aa.parquet", "items__tags_bb.parquet", "items_old_cc.parquet")

    assert list(table(store, flat).files()) == ["items_aa.parquet"]


def test_a_file_published_during_the_listing_is_not_reported_as_missing(
    store: FileStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit_files(store, 1, "items/1.5.aa.parquet")
    opened = table(store)
    tree, listings = store.tree, list[str]()

    def slow(folder: str) -> list[str]:
        listings.append(folder)
        files: list[str] = tree(folder)
        if len(listings) == 1:
            commit_files(store, 2, "items/2.5.bb.parquet")
        return files

    monkeypatch.setattr(store, "tree", slow)

    assert list(opened.files()) == ["items/1.5.aa.parquet", "items/2.5.bb.parquet"]


def test_a_load_of_dlt_explains_only_missing_files_of_earlier_loads(store: FileStorage) -> None:
    complete(store, "2.5", by_dlt=True)
    commit_files(store, 3, "elsewhere/aa.parquet")
    store.delete("elsewhere/aa.parquet")

    with pytest.raises(DestinationTerminalException, match="files of table items do not exist"):
        table(store).files()
