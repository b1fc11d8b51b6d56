"""Folders of data files are compared with their description by a listing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.package import DataFolder, FileStorage
from penstock.package.folder import DRIVER_FILE, list_folders

FILES = {"part-0.parquet": 10, "part-1.parquet": 7}
# A digest in packages of earlier versions must stay the same.
DIGEST = "6977cffae5a28c3c82d3df5c02fc3ab9ce04c7c62351ea0bd1e2dba9bb2b1cd8"
FOLDER = DataFolder(path="data/a", files=2, bytes=17, digest=DIGEST)
HIDDEN = {"_SUCCESS": 0, "_metadata": 5, ".part-0.crc": 8, "more/part-0.parquet": 10, "touched": 0}


@given(listed=st.permutations([*FILES.items(), *HIDDEN.items()]))
def test_order_and_hidden_files_do_not_matter(listed: list[tuple[str, int]]) -> None:
    assert FOLDER.find_mismatch(dict(listed)) is None


@pytest.mark.parametrize(
    ("listed", "reason"),
    [
        ({"part-0.parquet": 10}, "it has 1 data files, but 2 were written"),
        ({**FILES, "part-2.parquet": 1}, "it has 3 data files, but 2 were written"),
        ({"part-0.parquet": 10, "part-1.parquet": 8}, "its data files have 18 bytes, but 17 were written"),
        ({"part-0.parquet": 10, "part-2.parquet": 7}, "its data files have other names"),
        ({"part-0.parquet": 9, "part-1.parquet": 8}, "its data files have other names or sizes"),
    ],
)
def test_missing_added_or_resized_files_are_reported(listed: dict[str, int], reason: str) -> None:
    assert (FOLDER.find_mismatch(listed) or "").startswith(reason)


def test_a_folder_without_a_digest_is_not_verified() -> None:
    assert DataFolder(path="data/a").find_mismatch(FILES) is None


def test_the_only_file_that_the_driver_wrote_is_known_without_a_request() -> None:
    store = FileStorage("memory://package")
    written = DataFolder.described("data/a", {DRIVER_FILE: 7})
    store.put("data/b/part-0.parquet", b"0123456789")
    store.put("data/b/_SUCCESS", b"")
    listed = DataFolder.described("data/b", {"part-0.parquet": 10})

    assert written.list_files(store) == {DRIVER_FILE: 7}
    assert listed.list_files(store) == {"part-0.parquet": 10}


def test_folders_of_one_parent_are_listed_together() -> None:
    store = FileStorage("memory://listed")
    for name in ("data/a/0/part-0.parquet", "data/a/1/part-0.parquet", "data/a/1/_SUCCESS", "data/a/2/other"):
        store.put(name, b"0123456789")

    assert list_folders(store, ["data/a/0", "data/a/1", "data/b/0"]) == {
        "data/a/0": {"part-0.parquet": 10},
        "data/a/1": {"_SUCCESS": 10, "part-0.parquet": 10},
        "data/b/0": {},
    }
