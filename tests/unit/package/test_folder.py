"""Folders of data files are compared with their description by a listing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.package import DataFolder
from penstock.package.local_files import DirEntry

FILES = [DirEntry("part-0.parquet", 10, 0.0, False), DirEntry("part-1.parquet", 7, 0.0, False)]
# As Spark works it out: see `tests/spark/test_folders.py`, which has the same files.
DIGEST = "6977cffae5a28c3c82d3df5c02fc3ab9ce04c7c62351ea0bd1e2dba9bb2b1cd8"
FOLDER = DataFolder(path="data/a", files=2, bytes=17, digest=DIGEST)
HIDDEN = [
    DirEntry("_SUCCESS", 0, 0.0, False),
    DirEntry(".part-0.crc", 8, 0.0, False),
    DirEntry("more", 0, 0.0, True),
    DirEntry("touched", 0, 0.0, False),
]


@given(listed=st.permutations([*FILES, *HIDDEN]))
def test_order_and_hidden_files_do_not_matter(listed: list[DirEntry]) -> None:
    assert FOLDER.find_mismatch(listed) is None


@pytest.mark.parametrize(
    ("listed", "reason"),
    [
        (FILES[:1], "it has 1 data files, but 2 were written"),
        ([*FILES, DirEntry("part-2.parquet", 1, 0.0, False)], "it has 3 data files, but 2 were written"),
        ([FILES[0], FILES[1]._replace(size=8)], "its data files have 18 bytes, but 17 were written"),
        ([FILES[0], FILES[1]._replace(name="part-2.parquet")], "its data files have other names"),
        ([FILES[0]._replace(size=9), FILES[1]._replace(size=8)], "its data files have other names or sizes"),
    ],
)
def test_missing_added_or_resized_files_are_reported(listed: list[DirEntry], reason: str) -> None:
    assert (FOLDER.find_mismatch(listed) or "").startswith(reason)


def test_a_folder_without_a_digest_is_not_verified() -> None:
    assert DataFolder(path="data/a").find_mismatch(FILES) is None
