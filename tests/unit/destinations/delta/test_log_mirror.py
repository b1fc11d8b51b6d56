"""The part of a Delta log that is copied from a store: enough for the newest version, and no more."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Final

import pytest
from deltalake import DeltaTable
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.destinations.delta.test_file_commit import Lake, mark, read_copies

from penstock.destinations.delta.log_mirror import copy_log, files_to_copy

if TYPE_CHECKING:
    from pathlib import Path

LOG: Final = "items/_delta_log"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path / "demo")


def commit(version: int) -> str:
    return f"{version:020}.json"


def checkpoint(version: int) -> str:
    return f"{version:020}.checkpoint.parquet"


@given(st.integers(0, 30), st.sets(st.integers(0, 30)))
def test_the_newest_checkpoint_and_the_commits_from_it_on_are_copied(
    newest: int, checkpoints: set[int]
) -> None:
    made = {version for version in checkpoints if version <= newest}
    names = [*map(commit, range(newest + 1)), *map(checkpoint, made), "_last_checkpoint", "_commits"]
    start = max(made, default=0)

    assert files_to_copy(names) == [
        *([checkpoint(start)] if made else []),
        *map(commit, range(start, newest + 1)),
    ]


@pytest.mark.parametrize(
    "names",
    [
        [commit(0), f"{3:020}.checkpoint.0000000001.0000000002.parquet"],
        [commit(0), checkpoint(2), f"{3:020}.checkpoint.80a083e8-7026.json"],
        [commit(version) for version in range(200)],
    ],
    ids=["in parts", "a newer form", "long"],
)
def test_a_log_of_an_unusual_form_is_not_copied(names: list[str]) -> None:
    assert files_to_copy(names) is None


def test_a_copy_after_a_checkpoint_is_the_same_table(lake: Lake, tmp_path: Path) -> None:
    for sequence in range(1, 14):
        lake.commit(sequence, load=mark(sequence))
    for version in range(10):  # as after a cleanup of the log
        (lake.folder / LOG / commit(version)).unlink()

    mirror = copy_log(lake.store, "items", tmp_path / "copy")

    assert mirror is not None
    copied = DeltaTable(str(mirror.folder))
    assert (copied.version(), copied.transaction_version("penstock/shop")) == (12, 13)
    assert sorted(copied.file_uris()) == sorted(
        uri.replace(str(lake.folder / "items"), str(mirror.folder)) for uri in lake.table().file_uris()
    )
    assert len(list((mirror.folder / "_delta_log").iterdir())) == 4


def test_of_a_long_log_only_the_newest_part_is_listed(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[copy_log.__module__], "_PAGE_SIZE", 5)
    for sequence in range(1, 14):
        lake.commit(sequence, load=mark(sequence))

    mirror = copy_log(lake.store, "items", tmp_path / "copy")

    assert mirror is not None
    assert DeltaTable(str(mirror.folder)).version() == 12


def test_a_table_is_created_with_its_own_address(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    read_copies(monkeypatch)
    lake.commit(1, load=mark(1))

    info = json.loads((lake.folder / LOG / commit(0)).read_text().splitlines()[0])["commitInfo"]
    assert info["operationParameters"]["location"] == lake.store.path("items")


def test_a_log_that_does_not_exist_has_an_empty_copy(lake: Lake, tmp_path: Path) -> None:
    mirror = copy_log(lake.store, "items", tmp_path / "copy")

    assert mirror is not None
    assert not mirror.has_commit(0)
